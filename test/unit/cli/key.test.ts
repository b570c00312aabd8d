import { describe, test } from 'vitest';
import { z } from 'zod';
import { Keyring } from '../../../src/access/keyring.ts';
import { goodConfig } from '../../helpers/config.ts';
import { StillClock } from '../../helpers/still-clock.ts';
import { type } from './terminal.ts';

const Made = z.object({ key: z.string().optional(), name: z.string(), hash: z.string() });

/** Whose key it is to a catnap with this entry in its config. */
async function nameIn(entry: object, token: string): Promise<string | undefined> {
  const { keys } = goodConfig({ models: { alpha: { backend: 'stub' } }, keys: [entry] });
  const found = await new Keyring(keys, new StillClock()).find(token);
  return typeof found === 'string' ? found : found?.name;
}

describe('catnap key', () => {
  test('makes a key, and an entry that the config takes for it', async ({ expect }) => {
    const { code, out, err } = await type(['key', 'laptop']);
    expect([code, err]).toEqual([0, '']);
    const [key = ''] = /catnap_[\w-]{43}/.exec(out) ?? [];
    const [entry = ''] = /\{.*\}/.exec(out) ?? [];
    expect(await nameIn(JSON.parse(entry), key)).toBe('laptop');
    expect((await type(['key', 'laptop'])).out).not.toBe(out);
  });

  test('tells it to programs too', async ({ expect }) => {
    const { key = '', ...entry } = Made.parse(JSON.parse((await type(['key', 'ci', '--json'])).out));
    expect(await nameIn(entry, key)).toBe('ci');
  });

  test('hashes a key that somebody chose slowly, and does not repeat it', async ({ expect }) => {
    const { code, out } = await type(['key', 'me', '--stdin', '--json'], 'correct-horse-battery\n');
    const { key, ...entry } = Made.parse(JSON.parse(out));
    expect([code, key, entry.hash.split(':')[0]]).toEqual([0, undefined, 'scrypt']);
    expect(out).not.toContain('correct-horse');
    expect(await nameIn(entry, 'correct-horse-battery')).toBe('me');
  });

  test('takes no name that the config would not', async ({ expect }) => {
    const { code, out, err } = await type(['key', 'my laptop']);
    expect([code, out, err]).toEqual([2, '', 'catnap: the name must be 1 to 64 of A-Z a-z 0-9 _ . @ -.\n']);
  });

  test.for([
    ['short', 'at least 12 characters'],
    ['with blanks in it', 'without blanks'],
    ['', 'at least 12 characters'],
  ])('refuses %j', async ([given = '', told], { expect }) => {
    const { code, out, err } = await type(['key', '--stdin'], given);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(told);
  });
});
