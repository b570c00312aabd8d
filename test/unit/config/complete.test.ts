import { inspect } from 'node:util';
import { describe, test } from 'vitest';
import { folderWith, goodConfig, load, problemsOf } from '../../helpers/config.ts';

const alpha = { backend: 'llama_server', model_path: '/models/alpha.gguf' };
const remote = { backend: 'openai_remote', url: 'https://api.example.com/v1' };
const one = (model: object, rest: object = {}): object => ({ models: { a: model }, ...rest });

describe('what a model does not say it takes', () => {
  test('from the policy and the top level', ({ expect }) => {
    const rest = {
      policy: { sleep_level: 2, target_inflight: 3 },
      startup_timeout_secs: 100,
      startup_stall_secs: 50,
      stall_timeout_secs: 7,
      response_timeout_secs: 8,
      idle_timeout_secs: 9,
      total_timeout_secs: 10,
      probe_timeout_secs: 0.5,
      stop_grace_secs: 1,
      llama_server_command: ['nice', 'llama-server'],
    };
    const config = goodConfig({ models: { a: alpha, b: { backend: 'stub' } }, ...rest });
    expect(config.models['a']).toMatchObject({
      sleep_level: 5,
      target_inflight: 3,
      replicas: 1,
      startup_timeout_secs: 100,
      startup_stall_secs: 50,
      stall_timeout_secs: 7,
      response_timeout_secs: 8,
      idle_timeout_secs: 9,
      total_timeout_secs: 10,
      probe_timeout_secs: 0.5,
      stop_grace_secs: 1,
      llama_server_command: ['nice', 'llama-server'],
    });
    expect(config.models['b']).toMatchObject({ sleep_level: 2 });
  });

  test('and its own word counts before theirs', ({ expect }) => {
    const own = { target_inflight: 1, startup_timeout_secs: 30, stall_timeout_secs: 0 };
    const model = { ...alpha, ...own, llama_server_command: '/my server' };
    expect(goodConfig(one(model, { policy: { target_inflight: 9 } })).models['a']).toMatchObject({
      ...own,
      llama_server_command: ['/my server'],
    });
  });
});

test('commands are lists of words', ({ expect }) => {
  const model = { backend: 'command', command: `'/my server' --port \${PORT}`, stop_command: ['stop', '${PID}'] };
  expect(goodConfig(one(model)).models['a']).toMatchObject({
    command: ['/my server', '--port', '${PORT}'],
    stop_command: ['stop', '${PID}'],
    readiness_path: '/health',
  });
});

test.for([
  ['https://api.example.com', 'https://api.example.com'],
  ['https://api.example.com/v1/', 'https://api.example.com'],
  ['http://10.0.0.1:8080/proxy/v1', 'http://10.0.0.1:8080/proxy'],
] as const)('the address %s is asked as %s/v1/...', ([url, base], { expect }) => {
  expect(goodConfig(one({ ...remote, url })).models['a']).toMatchObject({ url: base });
});

describe('keys of engines', () => {
  const keyOf = (model: object, env: Record<string, string> = {}): string | undefined => {
    const found = goodConfig(one({ ...remote, ...model }), env).models['a'];
    return found !== undefined && 'api_key' in found ? found.api_key?.reveal() : undefined;
  };

  test('come from the config, from a variable or from a file', ({ expect }) => {
    using folder = folderWith({ key: 'sk-file\n' });
    expect(keyOf({})).toBeUndefined();
    expect(keyOf({ api_key: 'sk-config' })).toBe('sk-config');
    expect(keyOf({ api_key_env: 'MY_KEY' }, { MY_KEY: 'sk-variable' })).toBe('sk-variable');
    expect(keyOf({ api_key_file: folder.file('key') })).toBe('sk-file');
  });

  test('that cannot be had are problems', ({ expect }) => {
    using folder = folderWith({ empty: '\n', two: 'sk-1\nsk-2\n' });
    const problem = (model: object): string | undefined => problemsOf(one({ ...remote, ...model }))[0];
    expect(problem({ api_key: 'sk-1', api_key_env: 'X' })).toBe(
      'models.a.api_key_env is there besides api_key. Keep one of them.',
    );
    expect(problem({ api_key_env: 'MY_KEY' })).toBe(
      'models.a.api_key_env names the variable MY_KEY, which is not set. Set it where catnap starts.',
    );
    expect(problem({ api_key_file: folder.file('gone') })).toContain(
      'models.a.api_key_file names a file that cannot be read: ENOENT',
    );
    for (const file of ['empty', 'two'].map(folder.file)) {
      expect(problem({ api_key_file: file })).toBe(
        `models.a.api_key_file leads to no key: what the file ${file} holds must be printable ASCII without blanks`,
      );
    }
    expect(problem({ api_key: 'sk 1' })).toBe(
      'models.a.api_key must be printable ASCII without blanks, since it is sent in a header',
    );
  });

  test('and values of variables are printed nowhere', ({ expect }) => {
    const config = goodConfig(one({ ...alpha, api_key: 'sk-secret-1', env: { HF_TOKEN: 'sk-secret-2' } }));
    const found = config.models['a'];
    const key = found !== undefined && 'api_key' in found ? found.api_key : undefined;
    const token = found !== undefined && 'env' in found ? found.env['HF_TOKEN'] : undefined;
    const shown = [
      JSON.stringify(config),
      inspect(config, { depth: null, showHidden: true }),
      String(key) + String(token),
      ...problemsOf(one({ ...alpha, api_key: ['sk-secret-1'], env: { HF_TOKEN: { 'sk-secret-2': 1 } } })),
      ...problemsOf(one({ ...alpha, env: { HF_TOKEN: 12345 } })),
    ].join('\n');
    expect(shown).toContain('***');
    expect(shown).not.toMatch(/sk-secret|12345/);
    expect([key?.reveal(), token?.reveal()]).toEqual(['sk-secret-1', 'sk-secret-2']);
  });
});

describe('the state folder', () => {
  const stateDir = (env: Record<string, string>, rest = {}): string => goodConfig(one(alpha, rest), env).state_dir;

  test('is the one that is written, or where the system keeps such things', ({ expect }) => {
    expect(stateDir({}, { state_dir: '/var/lib/catnap' })).toBe('/var/lib/catnap');
    expect(stateDir({ XDG_STATE_HOME: '/state' })).toBe('/state/catnap');
    expect(stateDir({ XDG_STATE_HOME: 'relative' })).toBe('/home/somebody/.local/state/catnap');
    expect(stateDir({})).toBe('/home/somebody/.local/state/catnap');
  });

  test('must be written where nothing says where to put it', ({ expect }) => {
    expect(problemsOf(one(alpha), { HOME: '' })).toEqual([
      'state_dir has no default here, since neither XDG_STATE_HOME nor HOME is set. Name a folder that catnap may write to.',
    ]);
  });
});

test('a config cannot be changed', ({ expect }) => {
  let seen = 0;
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    seen += 1;
    expect(Object.isFrozen(value)).toBe(true);
    Object.values(value).forEach(visit);
  };
  visit(goodConfig(one({ ...alpha, aliases: ['x'] })));
  expect(seen).toBeGreaterThan(8);
});

test('what was given is left as it was', ({ expect }) => {
  const given = one({ ...alpha, aliases: ['x'] });
  const before = structuredClone(given);
  load(given);
  expect(given).toEqual(before);
  expect(Object.isFrozen(given)).toBe(false);
});
