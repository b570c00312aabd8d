import { describe, test } from 'vitest';
import { Keyring } from '../../../src/access/keyring.ts';
import { fastHash, makeKey, slowHash } from '../../../src/access/proof.ts';
import { StillClock } from '../../helpers/still-clock.ts';
import { goodConfig } from '../../helpers/config.ts';

const models = { alpha: { backend: 'stub' } };
const ringOf = (keys: readonly object[], env = {}) =>
  new Keyring(goodConfig({ models, keys }, env).keys, new StillClock());
const nameOf = async (ring: Keyring, token: string): Promise<string | undefined> => {
  const found = await ring.find(token);
  return typeof found === 'string' ? found : found?.name;
};
/** Cheap enough for a test; the config accepts it. */
const quick = async (key: string): Promise<string> => {
  const { scryptSync, randomBytes } = await import('node:crypto');
  const salt = randomBytes(16);
  const derived = scryptSync(key, salt, 32, { N: 1_024, r: 8, p: 1 });
  return `scrypt:1024:8:1:${salt.toString('base64url')}:${derived.toString('base64url')}`;
};

describe('a keyring', () => {
  test('knows keys by a fast hash, a slow one, a variable and a file', async ({ expect }) => {
    const [fast, slow, variable] = [makeKey(), 'correct horse'.replace(' ', '-'), makeKey()];
    const ring = ringOf(
      [
        { name: 'fast', hash: fastHash(fast) },
        { name: 'slow', hash: await slowHash(slow) },
        { name: 'variable', key_env: 'CLIENT_KEY' },
      ],
      { CLIENT_KEY: variable },
    );
    for (let again = 0; again < 2; again += 1) {
      expect(await Promise.all([fast, slow, variable, 'neither'].map((token) => nameOf(ring, token)))).toEqual([
        'fast',
        'slow',
        'variable',
        undefined,
      ]);
    }
  });

  test('works for a slow key once, and finds it at once from then on, as it does a wrong one', async ({ expect }) => {
    const ring = ringOf([{ name: 'slow', hash: await quick('a-chosen-key') }]);
    const [first, second] = [ring.find('a-chosen-key'), ring.find('a-chosen-key')];
    expect(first).toBeInstanceOf(Promise);
    expect(second).toBe(first);
    await first;
    expect(ring.find('a-chosen-key')).toMatchObject({ name: 'slow' });
    await ring.find('wrong');
    expect(ring.find('wrong')).toBeUndefined();
  });

  test('does not work on any number of guesses at a time', async ({ expect }) => {
    const ring = ringOf([{ name: 'slow', hash: await quick('a-chosen-key') }]);
    const found = Array.from({ length: 200 }, (_, guess) => ring.find(`guess ${guess}`));
    expect(found.filter((one) => one === 'busy').length).toBeGreaterThan(100);
    expect(await Promise.all(found.map(async (one) => one))).not.toContainEqual(
      expect.objectContaining({ name: 'slow' }),
    );
    expect(await nameOf(ring, 'a-chosen-key')).toBe('slow');
  });

  test('tells which key it was when several could be', async ({ expect }) => {
    const keys = Array.from({ length: 50 }, makeKey);
    const ring = ringOf(keys.map((key, index) => ({ name: `k${index}`, hash: fastHash(key) })));
    const names = await Promise.all(keys.map((key) => nameOf(ring, key)));
    expect(names).toEqual(keys.map((_, index) => `k${index}`));
  });
});
