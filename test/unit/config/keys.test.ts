import { describe, test } from 'vitest';
import { folderWith, goodConfig, problemsOf, warningsOf } from '../../helpers/config.ts';

const SHA = `sha256:${'0a'.repeat(32)}`;
const models = { alpha: { backend: 'stub', aliases: ['gpt-4o'] } };
const withKeys = (...keys: readonly unknown[]) => ({ models, keys });
const SECRET = 'sk-planted-secret-0123';

describe('a key', () => {
  test('may do what it says, and by default ask every model', ({ expect }) => {
    const { keys } = goodConfig(withKeys({ name: 'app', hash: SHA }));
    expect(keys).toMatchObject([{ name: 'app', models: ['*'], infer: true, admin: false }]);
    expect(JSON.stringify(keys)).not.toContain('0a0a');
  });

  test('is taken from a variable or a file, and prints nowhere', ({ expect }) => {
    using folder = folderWith({ key: `${SECRET}-in-a-file\n` });
    const { keys } = goodConfig(
      withKeys({ name: 'a', key_env: 'CLIENT' }, { name: 'b', key_file: folder.file('key') }),
      { CLIENT: SECRET },
    );
    expect(keys.map(({ secret }) => [secret.kind, secret.value.reveal()])).toEqual([
      ['plain', SECRET],
      ['plain', `${SECRET}-in-a-file`],
    ]);
    expect(JSON.stringify(keys)).not.toContain(SECRET);
  });

  test.for<[string, unknown, readonly string[]]>([
    [
      'without a secret',
      { name: 'a' },
      ['keys[0] has no `hash`, `key_env` or `key_file`. `catnap key` makes a key and prints its hash.'],
    ],
    ['with two', { name: 'a', hash: SHA, key_env: 'X' }, ['keys[0].key_env is there besides hash. Keep one of them.']],
    [
      'written out',
      { name: 'a', key: SECRET },
      ['keys[0].key is not a key here: the key itself does not stand in the config'],
    ],
    [
      'as its own hash',
      { name: 'a', hash: SECRET },
      ['keys[0].hash must be a hash that `catnap key` made: sha256: and 64 hex digits, or scrypt:'],
    ],
    [
      'with a hash that takes for ever',
      { name: 'a', hash: `scrypt:524288:8:1:${'a'.repeat(22)}:${'a'.repeat(43)}` },
      ['keys[0].hash must be a hash that `catnap key` made: sha256: and 64 hex digits, or scrypt:'],
    ],
    ['that is a text', SECRET, ['keys[0] must be an object, not a string']],
    [
      'of a variable that is not set',
      { name: 'a', key_env: 'NONE' },
      ['keys[0].key_env names the variable NONE, which is not set. Set it where catnap starts.'],
    ],
    [
      'itself where the name of a variable belongs',
      { name: 'a', key_env: SECRET },
      ['keys[0].key_env names a variable that is not set'],
    ],
    [
      'itself where a file belongs',
      { name: 'a', key_file: SECRET },
      ['keys[0].key_file names a file that cannot be read: ENOENT'],
    ],
    [
      'of a short value',
      { name: 'a', key_env: 'SHORT' },
      ['keys[0].key_env leads to a key of fewer than 16 characters, which can be guessed'],
    ],
    [
      'with no right',
      { name: 'a', hash: SHA, infer: false },
      ['keys[0] may neither infer nor admin. Give it a right, or take it out.'],
    ],
    ['with a name that is none', { name: 'a b', hash: SHA }, ['keys[0].name must be 1 to 64 of A-Z a-z 0-9 _ . @ -']],
    [
      'with a limit that is none',
      { name: 'a', hash: SHA, requests_per_second: 0 },
      ['keys[0].requests_per_second must be at least 0.001'],
    ],
  ])('%s is told, and the secret is not', ([, key, told], { expect }) => {
    const problems = problemsOf(withKeys(key), { SHORT: 'short' });
    expect(problems).toEqual(told.map((text) => expect.stringContaining(text)));
    expect(problems.join('\n')).not.toContain(SECRET);
  });

  test('has a name and a secret of its own', ({ expect }) => {
    expect(problemsOf(withKeys({ name: 'a', hash: SHA }, { name: 'a', hash: SHA }))).toEqual([
      'keys[1].name is "a", as another key is. Rename one.',
      'keys[1] has the same secret as "a". Make another.',
    ]);
  });

  test('that names models nobody has is worth a word', ({ expect }) => {
    const config = withKeys({ name: 'a', hash: SHA, models: ['alpha', 'gpt-*', 'betta', '*'] });
    expect(warningsOf(config)).toEqual(['keys[0].models[2] is "betta", which no model or alias fits']);
  });
});

test('a public address needs keys that may infer, or the words', ({ expect }) => {
  const told = [expect.stringContaining('catnap asks nobody for a key')];
  const listening = (key: object) => problemsOf({ ...withKeys({ name: 'a', hash: SHA, ...key }), host: '0.0.0.0' });
  expect(listening({})).toEqual([]);
  expect(listening({ infer: false, admin: true })).toEqual(told);
  // A key that is wrong is told, and not what only follows from it.
  expect(listening({ hash: 'x' })).toEqual([expect.stringContaining('keys[0].hash')]);
});
