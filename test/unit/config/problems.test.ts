import fc from 'fast-check';
import { describe, test } from 'vitest';
import { BACKENDS } from '../../../src/config/models/index.ts';
import { pathText } from '../../../src/config/place.ts';
import { load, problemsOf, warningsOf } from '../../helpers/config.ts';

const alpha = { backend: 'llama_server', model_path: '/models/alpha.gguf' };
const remote = { backend: 'openai_remote', url: 'https://api.example.com' };
const one = (model: unknown, rest: object = {}): unknown => ({ models: { a: model }, ...rest });

describe('keys', () => {
  test.for<[string, unknown, string]>([
    ['no models', {}, 'models is missing'],
    ['nothing in models', { models: {} }, 'models is empty. Add a model: its name, and what it is in braces.'],
    ['one misspelt', one(alpha, { metric_port: 1 }), 'metric_port is not a key here. Did you mean "metrics_port"?'],
    [
      'one of a model misspelt',
      one({ ...alpha, model_pth: 1 }),
      'models.a.model_pth is not a key here. Did you mean "model_path"?',
    ],
    [
      'one of the policy misspelt',
      one(alpha, { policy: { max_waitng: 1 } }),
      'policy.max_waitng is not a key here. Did you mean "max_waiting"?',
    ],
    [
      'one of restart misspelt',
      one(alpha, { restart: { first_dely_secs: 1 } }),
      'restart.first_dely_secs is not a key here. Did you mean "first_delay_secs"?',
    ],
    ['one that is like none', one(alpha, { banana: 1 }), 'banana is not a key here. docs/config.md lists the keys.'],
    [
      'an address for an engine',
      one({ ...alpha, host: '0.0.0.0' }),
      'models.a.host is not a key of models. Engines listen on 127.0.0.1; catnap has a `host` of its own.',
    ],
    [
      'one of another backend',
      one({ model_path: 'x', llama_server_n_ctx: 1 }),
      'models.a.llama_server_n_ctx is a key of the backend "llama_server", and this model\'s backend is "vllm_serve". Set `backend`, or take the key out.',
    ],
    ['a model that is no object', one('x.gguf'), 'models.a must be an object, not "x.gguf"'],
    ['a number in quotes', one(alpha, { port: '3000' }), 'port must be a number, not "3000". Write it without quotes.'],
    [
      'a truth in quotes',
      one({ ...alpha, enabled: 'true' }),
      'models.a.enabled must be true or false, not "true". Write it without quotes.',
    ],
    ['a half port', one(alpha, { port: 3000.5 }), 'port must be a whole number, not 3000.5'],
    ['a null', one(alpha, { host: null }), 'host must be a text, not null. Leave the key out to have its default.'],
    ['a number too small', one(alpha, { policy: { max_waiting: 0 } }), 'policy.max_waiting must be at least 1'],
    ['a number too large', one(alpha, { port: 65_536 }), 'port must be at most 65535'],
    ['an empty text', one({ ...alpha, model_path: '' }), 'models.a.model_path must not be empty'],
    [
      'a ~',
      one({ ...alpha, model_path: '~/a.gguf' }),
      'models.a.model_path must be written out: nothing expands the ~ here',
    ],
    [
      'a level that is none',
      one({ ...alpha, sleep_level: 0 }),
      'models.a.sleep_level must be 1, 2, 3, 4, 5 or "hybrid"',
    ],
    [
      'an activation that is none',
      one({ ...alpha, activation: 'on-demand' }),
      'models.a.activation must be one of "on_demand", "explicit", not "on-demand". Did you mean "on_demand"?',
    ],
    [
      'no time for a turn',
      one(alpha, { policy: { request_timeout_secs: 0 } }),
      'policy.request_timeout_secs must be at least 0.001',
    ],
  ])('%s', ([, config, problem], { expect }) => {
    expect(problemsOf(config)).toEqual([problem]);
  });
});

describe('backends', () => {
  test('one that is misspelt is the only thing said about its model', ({ expect }) => {
    expect(problemsOf(one({ backend: 'llama-server', llama_server_n_ctx: 'many' }))).toEqual([
      'models.a.backend must be one of "vllm_serve", "llama_server", "llama_cpp", "sglang", "exllamav3", "ct2", "command", "openai_remote", "stub", not "llama-server". Did you mean "llama_server"?',
    ]);
  });
});

describe('names', () => {
  test.for(['a,b', '', 'a b', 'é', '-a', 'a'.repeat(201), '"a"'])('%j cannot be a model', (name, { expect }) => {
    const [problem, ...others] = problemsOf({ models: { [name]: alpha } });
    expect(problem).toContain(`${pathText(['models', name])} must be 1 to 200 of A-Z a-z 0-9`);
    expect(others).toEqual([]);
  });

  test('a name like the one that cannot be used is proposed', ({ expect }) => {
    expect(problemsOf({ models: { 'qwen 3, 8b': alpha } })[0]).toMatch(/Perhaps "qwen-3-8b"\.$/);
  });

  test.for(['Qwen/Qwen3-14B', 'llama3:8b', 'gpt-4.1', 'org/model@v1+q4', '_x', 'constructor'])(
    '%s can',
    (name, { expect }) => {
      expect(problemsOf({ models: { [name]: alpha } })).toEqual([]);
    },
  );

  test('an alias of several models leads to models that are there', ({ expect }) => {
    const models = { alpha: { ...alpha, aliases: ['x', 'y-*'] }, beta: alpha };
    const aliases = {
      alpha: { models: ['beta'] },
      x: { models: ['beta'] },
      'y-*': { models: ['beta'] },
      z: { models: ['beta', 'alpah', 'beta'] },
    };
    expect(problemsOf({ models, aliases: { z: { modls: ['beta'], prefer: 'awoke' } } })).toEqual([
      'aliases.z.models is missing',
      'aliases.z.prefer must be one of "awake", "first", "least_loaded", not "awoke". Did you mean "awake"?',
      'aliases.z.modls is not a key here. Did you mean "models"?',
    ]);
    expect(problemsOf({ models, aliases: { 'a b': { models: [] } } })).toEqual([
      'aliases["a b"] must be 1 to 200 of A-Z a-z 0-9 _ . : / @ + - and *, and begin with a letter, a digit, _ or *',
    ]);
    expect(problemsOf({ models, aliases: { ab: { models: [] } } })).toEqual(['aliases.ab.models must not be empty']);
    expect(problemsOf({ models, aliases })).toEqual([
      'aliases.alpha is the name of a model. Choose another.',
      'aliases.x is an alias of the model "alpha" already. Keep one of them.',
      'aliases["y-*"] is an alias of the model "alpha" already. Keep one of them.',
      'aliases.z.models[1] is "alpah", which is no model here. Did you mean "alpha"?',
      'aliases.z.models[2] is "beta", which is in the list already. Take it out.',
    ]);
  });

  test('the default model is one', ({ expect }) => {
    const rest = { aliases: { any: { models: ['a'] } } };
    for (const name of ['none', 'awake', 'a', 'any', 'also-1']) {
      expect(problemsOf(one({ ...alpha, aliases: ['also-*'] }, { ...rest, default_model: name }))).toEqual([]);
    }
    expect(problemsOf(one(alpha, { default_model: 'awkae' }))).toEqual([
      'default_model is "awkae", which is no model here. Did you mean "awake"?',
    ]);
  });

  test('the hardware returns to a model that requests may bring in', ({ expect }) => {
    const models = { alpha, beta: { ...alpha, activation: 'explicit' }, gamma: { ...alpha, enabled: false } };
    const told = (idle_target: string): readonly string[] => problemsOf({ models, policy: { idle_target } });
    expect(told('alpha')).toEqual([]);
    expect(told('alpah')).toEqual(['policy.idle_target is "alpah", which is no model here. Did you mean "alpha"?']);
    for (const name of ['beta', 'gamma']) {
      expect(told(name)).toEqual([
        `policy.idle_target is "${name}", which only operators load. Name a model that is enabled and loaded on demand.`,
      ]);
    }
  });

  test('an alias leads to one model', ({ expect }) => {
    const models = { a: { ...alpha, aliases: ['a', 'b', 'c', 'c'] }, b: { ...alpha, aliases: ['c'] } };
    expect(problemsOf({ models })).toEqual([
      'models.a.aliases[0] is the name of the model itself, "a". Take it out.',
      'models.a.aliases[1] is "b", which is a model of its own. Choose another.',
      'models.a.aliases[3] is "c", which is an alias of this model already. Keep one of them.',
      'models.b.aliases[0] is "c", which is an alias of the model "a" already. Keep one of them.',
    ]);
  });
});

describe('ports', () => {
  const at = (port: number): object => ({ ...alpha, port });

  test('each is used once', ({ expect }) => {
    expect(problemsOf({ models: { a: at(8001), b: at(8001), c: at(3000), d: at(9090) }, port: 3000 })).toEqual([
      'models.b.port is 8001, and so is models.a.port. Give one of them another port.',
      'models.c.port is 3000, and so is port. Give one of them another port.',
      'models.d.port is 9090, and so is metrics_port by default. Give one of them another port.',
    ]);
  });

  test('port and metrics_port are two', ({ expect }) => {
    expect(problemsOf(one(alpha, { port: 9090 }))).toEqual([
      'port is 9090, and so is metrics_port by default. Give one of them another port.',
    ]);
    expect(problemsOf(one(alpha, { port: 9090, metrics_port: 0 }))).toEqual([]);
    expect(problemsOf(one(alpha, { port: 0, metrics_port: 0 }))).toEqual([]);
  });

  test('replicas take free ones', ({ expect }) => {
    expect(problemsOf(one({ ...at(8001), replicas: 2 }))).toEqual([
      'models.a.port cannot serve 2 replicas. Leave it out: each replica then takes a free port.',
    ]);
    expect(problemsOf(one({ ...alpha, replicas: 2 }))).toEqual([]);
  });
});

describe('commands', () => {
  test.for<[string, object, string]>([
    ['an open quote', { command: 'server "${PORT}' }, 'command has a " that is never closed'],
    ['no program', { command: ' ' }, 'command names no program'],
    ['an empty list', { command: [] }, 'command must be a command line: a list of arguments, or one string'],
    ['a number', { command: 3 }, 'command must be a command line: a list of arguments, or one string'],
    [
      'no port',
      { command: 'server' },
      'command does not tell the server its port. Put ${PORT} where the port belongs, or set `port` to the one it uses.',
    ],
    [
      'a variable of a shell',
      { command: 'server ${PORT} ${HOME}' },
      'command holds ${HOME}, which stands for nothing: no shell runs the command. It may hold ${PORT}, ${MODEL}, ${MODEL_PATH}, ${DEVICE}.',
    ],
    [
      'a path that is not given',
      { command: 'server ${PORT} ${MODEL_PATH}' },
      'model_path is missing, and the command holds ${MODEL_PATH}',
    ],
    [
      'a stop command with a word too many',
      { command: 'server ${PORT}', stop_command: 'kill ${PIDS}' },
      'stop_command holds ${PIDS}, which stands for nothing: no shell runs the command. It may hold ${PID}, ${PORT}, ${MODEL}, ${MODEL_PATH}, ${DEVICE}.',
    ],
    [
      'a readiness path without its slash',
      { command: 'server ${PORT}', readiness_path: 'health' },
      'readiness_path must be a path that begins with /, or "none"',
    ],
  ])('%s', ([, model, problem], { expect }) => {
    expect(problemsOf(one({ backend: 'command', ...model }))).toEqual([`models.a.${problem}`]);
  });

  test('a server that has a fixed port need not be told', ({ expect }) => {
    expect(problemsOf(one({ backend: 'command', command: 'server', port: 8001 }))).toEqual([]);
  });

  test('ports and hosts of engines are not for extra_args', ({ expect }) => {
    expect(problemsOf(one({ ...alpha, extra_args: ['--port', '1', '--host=0.0.0.0'] }))).toEqual([
      'models.a.extra_args[0] is --port, which catnap sets itself. Set `port` in its place.',
      'models.a.extra_args[2] is --host=0.0.0.0, which catnap sets itself. Engines listen on 127.0.0.1; catnap has a `host` of its own.',
    ]);
  });
});

describe('times that contradict each other', () => {
  test.for<[object, string]>([
    [
      { policy: { min_active_secs: 60 } },
      'policy.min_active_secs is 60, and must be below policy.request_timeout_secs (60): requests for other models would time out before one of them gets a turn. Lower it, or raise the other.',
    ],
    [
      { restart: { first_delay_secs: 61 } },
      'restart.first_delay_secs is 61, and must be at most restart.longest_delay_secs (60): pauses only grow. Lower it, or raise the other.',
    ],
    [
      { header_timeout_secs: 31, body_timeout_secs: 30 },
      'header_timeout_secs is 31, and must be at most body_timeout_secs (30): the head is a part of the request. Lower it, or raise the other.',
    ],
    [
      { stop_grace_secs: 30 },
      'stop_grace_secs is 30, and twice that does not fit into stop_timeout_secs (60): a stop would give up before SIGKILL. Lower it, or raise stop_timeout_secs.',
    ],
    [
      { startup_timeout_secs: 2 },
      'probe_timeout_secs is 2, and must be below startup_timeout_secs (2): one probe would outlast the start. Lower it, or raise the other.',
    ],
  ])('%j', ([config, problem], { expect }) => {
    expect(problemsOf(one(alpha, config))).toEqual([problem]);
  });

  test('a model with times of its own is told at its own path', ({ expect }) => {
    const times = { stop_grace_secs: 40, probe_timeout_secs: 3, startup_timeout_secs: 1 };
    expect(problemsOf(one({ ...alpha, ...times }))).toEqual([
      'models.a.probe_timeout_secs is 3, and must be below models.a.startup_timeout_secs (1): one probe would outlast the start. Lower it, or raise the other.',
      'models.a.stop_grace_secs is 40, and twice that does not fit into stop_timeout_secs (60): a stop would give up before SIGKILL. Lower it, or raise stop_timeout_secs.',
    ]);
  });

  test('a model that has only one of two such times is told at that one', ({ expect }) => {
    expect(problemsOf(one({ ...alpha, startup_timeout_secs: 1 }))).toEqual([
      'models.a.startup_timeout_secs is 1, and must be above probe_timeout_secs (2): one probe would outlast the start. Raise it, or lower the other.',
    ]);
  });

  test('one time of the top level is told once, however many models take it', ({ expect }) => {
    expect(
      problemsOf({ models: { a: alpha, b: alpha, c: alpha }, probe_timeout_secs: 20, startup_timeout_secs: 10 }),
    ).toEqual([
      'probe_timeout_secs is 20, and must be below startup_timeout_secs (10): one probe would outlast the start. Lower it, or raise the other.',
    ]);
  });
});

describe('who can reach catnap', () => {
  test.for(['0.0.0.0', '::', '192.168.1.7', 'catnap.example.com', '128.0.0.1'])(
    '%s is said in so many words',
    (host, { expect }) => {
      expect(problemsOf(one(alpha, { host }))).toEqual([
        `host is "${host}", which others can reach, and catnap asks nobody for a key. Add \`keys\` (\`catnap key\` makes one), set "insecure_public": true if the network around it is safe, or use 127.0.0.1.`,
      ]);
      expect(problemsOf(one(alpha, { host, insecure_public: true }))).toEqual([]);
    },
  );

  test.for(['127.0.0.1', '127.0.0.2', '::1', 'localhost'])('%s is safe', (host, { expect }) => {
    expect(problemsOf(one(alpha, { host }))).toEqual([]);
  });

  test.for(['http://127.0.0.1', '127.0.0.1:3000', '[::1]', 'a b'])('%s is no address', (host, { expect }) => {
    expect(problemsOf(one(alpha, { host, insecure_public: true }))).toEqual([
      `host is "${host}", which is not an address. Write 127.0.0.1, 0.0.0.0, :: or a host name; the port has a key of its own.`,
    ]);
  });
});

describe('remote models', () => {
  test.for<[string, string]>([
    ['ftp://x', 'must be an http:// or https:// address'],
    ['api.example.com', 'must be an http:// or https:// address'],
    ['https://user:pass@api.example.com', 'must not hold a user or password: put the key in `api_key`'],
    ['https://api.example.com/v1?key=1', 'must not have a query or a fragment'],
    ['http://localhost:3000/v1', 'is the address of this catnap. Name the other server.'],
    ['http://[::1]:3000', 'is the address of this catnap. Name the other server.'],
  ])('%s', ([url, problem], { expect }) => {
    expect(problemsOf(one({ ...remote, url }))).toEqual([`models.a.url ${problem}`]);
  });
});

test('what is written and has no effect is a warning', ({ expect }) => {
  const models = { a: { ...alpha, activation: 'explicit', enabled: false, startup_stall_secs: 700 } };
  expect(warningsOf({ models, policy: { drain_before_switch: false, drain_timeout_secs: 5 } })).toEqual([
    'policy.drain_timeout_secs has no effect, since "drain_before_switch": false never waits',
    'models.a.startup_stall_secs has no effect on "a": its start is over after 600 seconds anyway',
    'models has no model that is enabled: every request is refused',
  ]);
  const warm = { model_path: 'x', warmup: true, levels_allowed: [2, 5] };
  expect(warningsOf({ models: { warm, cold: { ...warm, levels_allowed: [1, 5] } } })).toEqual([
    'models.warm.warmup has no effect, since levels_allowed leaves level 1 out',
  ]);
});

test('a footprint has an effect where sleepers are bounded by it, or models may overlap', ({ expect }) => {
  const models = { a: { ...alpha, footprint: { gpu_mib: 9 } } };
  expect(warningsOf({ models })).toEqual([expect.stringMatching(/^models\.a\.footprint has no effect/)]);
  expect(warningsOf({ models, policy: { host_ram_limit_mib: 9 } })).toEqual([]);
  expect(warningsOf({ models, policy: { overlap: true } })).toEqual([]);
});

describe('all problems at once', () => {
  test('wrong keys do not hide wrong pairs of keys', ({ expect }) => {
    const models = { a: { ...alpha, port: 8001 }, b: { ...alpha, port: 8001 }, c: { ...alpha, port: 'x' } };
    expect(problemsOf({ models, host: '0.0.0.0', polcy: {} })).toEqual([
      'models.c.port must be a number, not "x"',
      'polcy is not a key here. Did you mean "policy"?',
      'models.b.port is 8001, and so is models.a.port. Give one of them another port.',
      'host is "0.0.0.0", which others can reach, and catnap asks nobody for a key. Add `keys` (`catnap key` makes one), set "insecure_public": true if the network around it is safe, or use 127.0.0.1.',
    ]);
  });

  test('nothing is said that only follows from a problem already told', ({ expect }) => {
    expect(problemsOf(one({ ...alpha, port: 3000 }, { port: '3000' }))).toEqual([
      'port must be a number, not "3000". Write it without quotes.',
    ]);
    expect(problemsOf(one(7))).toEqual(['models.a must be an object, not 7']);
  });
});

describe('whatever is written', () => {
  const backends = fc.constantFrom(...Object.keys(BACKENDS), 'vllm', 'nonsense');
  const keys = [...new Set(Object.values(BACKENDS).flatMap(({ shape }) => Object.keys(shape)))];
  const model = fc.dictionary(fc.constantFrom(...keys), fc.oneof(fc.jsonValue(), backends, fc.integer()));
  const config = fc.record(
    {
      models: fc.oneof(fc.dictionary(fc.string(), fc.oneof(model, fc.jsonValue())), fc.jsonValue()),
      port: fc.oneof(fc.integer(), fc.jsonValue()),
      host: fc.oneof(fc.string(), fc.jsonValue()),
      policy: fc.jsonValue(),
      restart: fc.jsonValue(),
      checkpoint: fc.jsonValue(),
      stop_grace_secs: fc.double(),
    },
    { requiredKeys: [] },
  );

  test('it is either a config or a list of problems, each with its path and a word', ({ expect }) => {
    fc.assert(
      fc.property(fc.oneof(config, fc.jsonValue()), (value) => {
        const loaded = load(value);
        if (loaded.kind !== 'bad') return;
        expect(loaded.problems.length).toBeGreaterThan(0);
        for (const { path, message } of loaded.problems) {
          expect(path).not.toBe('');
          expect(message).toMatch(/\S/);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
