import { mkdirSync } from 'node:fs';
import { describe, test } from 'vitest';
import { problemText } from '../../../src/config/diagnostics.ts';
import { configFrom, loadConfig, type Loaded } from '../../../src/config/load.ts';
import { folderWith } from '../../helpers/config.ts';

const env = { HOME: '/home/somebody' };
const json = JSON.stringify;

const problemLines = (loaded: Loaded): string[] => (loaded.kind === 'bad' ? loaded.problems.map(problemText) : []);

describe('which files are read', () => {
  const some = json({ models: { a: { model_path: 'x' } } });

  test.for<[string[], string | undefined]>([
    [['config.json', 'config.yaml', 'config.yml'], 'config.json'],
    [['config.yaml', 'config.yml'], 'config.yaml'],
    [['config.yml'], 'config.yml'],
    [['other.json'], undefined],
  ])('of %j in the folder: %s', ([names, expected], { expect }) => {
    using folder = folderWith(Object.fromEntries(names.map((name) => [name, some])));
    const loaded = loadConfig([], {}, env, folder.path);
    if (expected === undefined) {
      expect(loaded).toEqual({ kind: 'absent', lookedFor: ['config.json', 'config.yaml', 'config.yml'] });
    } else expect(loaded).toMatchObject({ kind: 'loaded', sources: [folder.file(expected)] });
  });

  test('later ones lie over earlier ones, the local ones over theirs, the command line over all', ({ expect }) => {
    using folder = folderWith({
      'base.json': json({
        port: 1001,
        host: '127.0.0.1',
        models: { a: { model_path: 'x', extra_args: ['--one', '--two'] } },
      }),
      'base.local.json': json({
        port: 1002,
        metrics_port: 0,
        models: { a: { model_path: 'local' }, b: { model_path: 'y' } },
      }),
      'more.yaml': 'models:\n  a:\n    extra_args: [--three]\n  b: null\npolicy:\n  max_waiting: 7\n',
    });
    const files = [folder.file('base.json'), folder.file('more.yaml')];
    const loaded = loadConfig(files, { port: 1003 }, env);
    expect(loaded).toMatchObject({
      kind: 'loaded',
      sources: [folder.file('base.json'), folder.file('base.local.json'), folder.file('more.yaml')],
      config: { port: 1003, metrics_port: 0, policy: { max_waiting: 7 } },
    });
    if (loaded.kind !== 'loaded') return;
    expect(Object.keys(loaded.config.models)).toEqual(['a']);
    expect(loaded.config.models['a']).toMatchObject({ model_path: 'local', extra_args: ['--three'] });
    expect(loaded.wrote('metrics_port')).toBe(true);
    expect(loaded.wrote('policy', 'max_waiting')).toBe(true);
    expect(loaded.wrote('policy', 'sleep_level')).toBe(false);
  });

  test('each problem names the file and the line where it was written last', ({ expect }) => {
    using folder = folderWith({
      'config.json': '{\n  "prt": 1,\n  "models": { "a": { "model_path": "x", "port": 8001 } } }',
      'config.local.json': '{\n  "models": {\n    "a": {\n      "port": "8002" } } }',
    });
    expect(problemLines(loadConfig([], { port: 70_000 }, env, folder.path))).toEqual([
      `${folder.file('config.json')}:2:3: prt is not a key here. Did you mean "port"?`,
      `${folder.file('config.local.json')}:4:7: models.a.port must be a number, not "8002". Write it without quotes.`,
      'command line: port must be at most 65535',
    ]);
  });

  test('what is missing is told where it should be', ({ expect }) => {
    using folder = folderWith({ 'config.yaml': 'port: 3000\nmodels:\n  a:\n    backend: llama_server\n' });
    expect(problemLines(loadConfig([], {}, env, folder.path))).toEqual([
      `${folder.file('config.yaml')}:3:3: models.a.model_path is missing`,
    ]);
  });
});

describe('files that cannot be used', () => {
  test.for<[string, string | Uint8Array, string]>([
    [
      'config.json',
      '{\n  "port": 3000,\n}',
      ':3:1: a key in double quotes is expected. Perhaps there is a comma too many before it.',
    ],
    ['config.json', '[]', ': holds no object. A config is { "models": { "NAME": { … } } }.'],
    ['config.json', Uint8Array.of(0xff, 0xfe, 0x7b, 0x00), ': is not UTF-8. Save it as UTF-8.'],
    ['config.toml', 'port = 1', ': has an ending that is not known. Config files end in .json, .yaml or .yml.'],
    ['config.json', ' '.repeat(8 * 1_048_576 + 1), ': is larger than 8388608 bytes'],
  ])('%s, case %$', ([name, content, expected], { expect }) => {
    using folder = folderWith({ [name]: content });
    expect(problemLines(loadConfig([folder.file(name)], {}, env))).toEqual([`${folder.file(name)}${expected}`]);
  });

  test('all of them are named at once', ({ expect }) => {
    using folder = folderWith({ 'a.json': '{', 'b.yaml': 'x: [' });
    const files = ['a.json', 'b.yaml', 'gone.json'].map(folder.file);
    const lines = problemLines(loadConfig(files, {}, env));
    for (const file of files) expect(lines.join('\n')).toContain(file);
    expect(lines.at(-1)).toBe(`${folder.file('gone.json')}: there is no such file`);
  });

  test('a folder is not a file', ({ expect }) => {
    using folder = folderWith({});
    mkdirSync(folder.file('config.json'));
    expect(problemLines(loadConfig([], {}, env, folder.path))[0]).toContain('config.json: cannot be read: EISDIR');
  });

  test('an empty file says what it lacks', ({ expect }) => {
    using folder = folderWith({ 'config.yaml': '# nothing yet\n' });
    expect(problemLines(loadConfig([], {}, env, folder.path))).toEqual([
      `${folder.file('config.yaml')}:1:1: models is missing`,
    ]);
  });
});

test('a byte order mark and Windows line ends do no harm', ({ expect }) => {
  using folder = folderWith({ 'config.json': '\uFEFF{\r\n  "models": { "a": { "model_path": "x" } }\r\n}\r\n' });
  expect(loadConfig([], {}, env, folder.path).kind).toBe('loaded');
});

test('a config in memory is named in its problems', ({ expect }) => {
  expect(problemLines(configFrom({ models: {} }, 'the built-in config', {}, env))).toEqual([
    'the built-in config: models is empty. Add a model: its name, and what it is in braces.',
  ]);
});
