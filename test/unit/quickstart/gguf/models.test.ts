import { readFile, readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, test } from 'vitest';
import { writeCountModel, writeRandomModel, writeSayModel } from '../../../../src/quickstart/gguf/models.ts';
import { testFolder } from '../../../helpers/survivors.ts';

let folder = '';
beforeAll(() => {
  const made = testFolder();
  folder = made.path;
  return made.remove;
});

const path = (name: string): string => join(folder, name);

describe('a model file', () => {
  test('has the same bytes whenever it is made from the same arguments', async ({ expect }) => {
    await writeRandomModel({ file: path('one'), seed: 7 });
    await writeRandomModel({ file: path('two'), seed: 7 });
    await writeRandomModel({ file: path('other'), seed: 8 });
    const [one, two, other] = await Promise.all(['one', 'two', 'other'].map((name) => readFile(path(name))));
    expect(one).toEqual(two);
    expect(one).not.toEqual(other);
  });

  test('that is already there is left alone', async ({ expect }) => {
    await writeSayModel({ file: path('kept'), text: 'Hello there' });
    const before = await stat(path('kept'));
    await writeSayModel({ file: path('kept'), text: 'Hello there' });
    expect((await stat(path('kept'))).ino).toBe(before.ino);
  });

  test('that was cut short is made again', async ({ expect }) => {
    await writeSayModel({ file: path('cut'), text: 'Hello there' });
    const whole = await readFile(path('cut'));
    await truncate(path('cut'), 1_000);
    await writeSayModel({ file: path('cut'), text: 'Hello there' });
    expect(await readFile(path('cut'))).toEqual(whole);
  });

  test('with another text of the same length is made again', async ({ expect }) => {
    await writeSayModel({ file: path('text'), text: 'Hello there' });
    const before = await readFile(path('text'));
    await writeSayModel({ file: path('text'), text: 'Howdy there' });
    expect(await readFile(path('text'))).not.toEqual(before);
  });

  test('is whole although several write it at once, and nothing else is left', async ({ expect }) => {
    const shelf = path('shelf');
    const file = join(shelf, 'model.gguf');
    await Promise.all(Array.from({ length: 4 }, () => writeCountModel({ file, count: 20 })));
    await writeCountModel({ file: path('alone'), count: 20 });
    expect(await readFile(file)).toEqual(await readFile(path('alone')));
    expect(await readdir(shelf)).toEqual(['model.gguf']);
  });

  test('of a wanted size is about that large', async ({ expect }) => {
    await writeRandomModel({ file: path('large'), seed: 1, targetMb: 10 });
    const { size } = await stat(path('large'));
    expect(size / 1e6).toBeGreaterThan(7);
    expect(size / 1e6).toBeLessThan(13);
  });
});

describe('what cannot be made is refused with what to change', () => {
  test.for([
    [
      'say the cat and the dog',
      'the text to say has "the" twice: use each word once, since each word decides the next',
    ],
    ['', 'the text to say is empty: give at least one word'],
    [' \n', 'the text to say is empty: give at least one word'],
    ['hello ', 'the text to say starts or ends with white space: remove it'],
    ['stop <|im_end|> here', 'the text to say contains the marker "<|im_end|>": leave it out'],
  ] as const)('to say %j', async ([text, message], { expect }) => {
    await expect(writeSayModel({ file: path('no'), text })).rejects.toThrow(message);
  });

  test.for([
    [0, 'cannot count to 0: give a whole number from 1 on'],
    [2.5, 'cannot count to 2.5: give a whole number from 1 on'],
    [1e9, 'the script has more than 2000 words: give a shorter one, since each costs memory'],
  ] as const)('to count to %d', async ([count, message], { expect }) => {
    await expect(writeCountModel({ file: path('no'), count })).rejects.toThrow(message);
  });

  test.for([
    [{ seed: -1 }, 'seed -1 will not do: give a whole number from 0 to 4294967295'],
    [{ seed: 1, targetMb: 0 }, 'cannot make a model of 0 MB: give a size above 0 and up to 8000'],
    [{ seed: 1, targetMb: 1e6 }, 'cannot make a model of 1000000 MB: give a size above 0 and up to 8000'],
  ] as const)('at random: %j', async ([wanted, message], { expect }) => {
    await expect(writeRandomModel({ file: path('no'), ...wanted })).rejects.toThrow(message);
  });

  test('and no file appears', async ({ expect }) => {
    await writeSayModel({ file: path('no'), text: 'no no no' }).catch(() => undefined);
    await expect(stat(path('no'))).rejects.toThrow('ENOENT');
  });
});
