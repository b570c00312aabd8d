import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'vitest';
import { publish, withDraft } from '../../../../src/quickstart/llama/publish.ts';
import { testFolder } from '../../../helpers/survivors.ts';

let shelf = '';
let place = '';
beforeEach(() => {
  const folder = testFolder();
  shelf = folder.path;
  place = join(shelf, 'place');
  return folder.remove;
});

/** Makes a folder that holds this text and publishes it; one that holds `bad` is not good. */
function publishText(text: string): Promise<void> {
  return withDraft(shelf, async (draft) => {
    const finished = join(draft, 'finished');
    mkdirSync(finished);
    writeFileSync(join(finished, 'text'), text);
    await publish(finished, place, draft, async () => published() !== 'bad');
  });
}

const published = (): string => readFileSync(join(place, 'text'), 'utf8');

test('a finished folder comes to its place, and its draft goes', async ({ expect }) => {
  await publishText('first');
  expect(published()).toBe('first');
  expect(readdirSync(shelf)).toEqual(['place']);
});

test('a good folder that came first stays', async ({ expect }) => {
  await publishText('first');
  await publishText('second');
  expect(published()).toBe('first');
  expect(readdirSync(shelf)).toEqual(['place']);
});

test('a folder that is not good is replaced', async ({ expect }) => {
  await publishText('bad');
  await publishText('second');
  expect(published()).toBe('second');
  expect(readdirSync(shelf)).toEqual(['place']);
});

test('several at once leave one whole folder', async ({ expect }) => {
  await Promise.all(Array.from({ length: 5 }, () => publishText('good')));
  expect(published()).toBe('good');
  expect(readdirSync(shelf)).toEqual(['place']);
});

test('work that fails leaves no draft', async ({ expect }) => {
  const failing = withDraft(shelf, async (draft) => {
    writeFileSync(join(draft, 'half'), '');
    throw new Error('no room');
  });
  await expect(failing).rejects.toThrow('no room');
  expect(readdirSync(shelf)).toEqual([]);
});

test('a draft that nobody finished goes after an hour, a younger one stays', async ({ expect }) => {
  const old = join(shelf, '.draft-old');
  const young = join(shelf, '.draft-young');
  mkdirSync(old);
  mkdirSync(young);
  const twoHoursAgo = new Date(Date.now() - 2 * 3_600_000);
  utimesSync(old, twoHoursAgo, twoHoursAgo);
  await publishText('first');
  expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
});
