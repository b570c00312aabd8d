import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import type { ModelInput } from '../../../src/config/schema.ts';
import type { EngineCall } from '../../../src/ports/engine-http.ts';
import { failureOf, oneEngine, order, startUp, watched } from './one-engine.ts';
import { answered, HANG } from './scripted-ports.ts';

const HELP = readFileSync(new URL('../../fixtures/llama-server-help.txt', import.meta.url), 'utf8');

type LlamaInput = Extract<ModelInput, { backend: 'llama_server' }>;

/** A llama-server 0.7.0 that serves `alpha`. */
function llama(alpha: Partial<LlamaInput> = {}) {
  const engine = oneEngine({ backend: 'llama_server', model_path: '/m/alpha.gguf', ...alpha });
  engine.processes.answer = (argv) =>
    argv.includes('--help')
      ? { code: 0, output: HELP }
      : { code: 0, output: 'version: 0.7.0 (build 11669, commit Debian)\nbuilt with GNU\n' };
  return engine;
}

const helpsAsked = (engine: ReturnType<typeof llama>): number =>
  engine.processes.asked.filter((argv) => argv.includes('--help')).length;

test('it is started with its slots, without network, interface and colours, under the name of the model', async ({
  expect,
}) => {
  const settings = { llama_server_n_ctx: 4_096, llama_server_parallel: 2, llama_server_n_gpu_layers: -1 };
  const engine = llama({ ...settings, target_inflight: 12 });
  await startUp(engine);
  const { argv } = engine.processes.specs[0] ?? { argv: [] };
  const port = String(engine.driver.running?.port);
  expect(argv).toEqual([
    ...['llama-server', '--host', '127.0.0.1', '--port', port, '--model', '/m/alpha.gguf', '--alias', 'alpha'],
    ...['--parallel', '2', '--kv-unified', '--no-ui', '--offline', '--metrics', '--slots'],
    ...['--sse-ping-interval', '5', '--threads-http', '20', '--log-colors', 'off'],
    ...['--ctx-size', '4096', '--n-gpu-layers', '9999'],
  ]);
  expect(engine.driver.backend?.servedName).toBe('alpha');
});

test('its key reaches it by the environment, where no list of processes shows it, and is sent with each request', async ({
  expect,
}) => {
  const engine = llama({ api_key: 'sk-1', env: { GGML_X: '1' } });
  await startUp(engine);
  const { argv = [], env } = engine.processes.specs[0] ?? {};
  expect(env).toEqual({ LLAMA_API_KEY: 'sk-1', GGML_X: '1' });
  expect(argv.join(' ')).not.toContain('sk-1');
  expect(engine.driver.backend?.headers).toEqual({ authorization: 'Bearer sk-1' });
});

test('a key and an alias among the extra arguments are used, and the key masked where people look', async ({
  expect,
}) => {
  const engine = llama({ extra_args: ['--api-key', 'sk-2', '--alias', 'zoo,ape'] });
  await startUp(engine);
  expect(engine.driver.backend).toMatchObject({ servedName: 'ape', headers: { authorization: 'Bearer sk-2' } });
  expect(engine.driver.running?.commandLine).not.toContain('sk-2');
});

test('arguments that the binary does not know fail the start before it is started, with the version and what to write', async ({
  expect,
}) => {
  const engine = llama({ extra_args: ['--no-mmap', '--metricz'] });
  const start = watched(engine.driver.start(order().order));
  await engine.clock.advance(10);
  expect(failureOf(start)).toBe(
    'models.alpha.extra_args does not fit llama-server 0.7.0 (build 11669, commit Debian): ' +
      '--no-mmap is not known: write --load-mode none; --metricz is not known: write --metrics',
  );
  expect(engine.processes.specs).toEqual([]);
});

test('the binary is asked for its flags once, and again when its file has changed', async ({ expect }) => {
  const engine = llama();
  const restart = async (): Promise<void> => {
    engine.processes.child.onSignal = () => engine.processes.child.exit(0);
    await Promise.all([engine.driver.stop(order().order), engine.clock.advance(50)]);
    await startUp(engine);
  };
  await startUp(engine);
  await restart();
  expect(helpsAsked(engine)).toBe(1);
  engine.programs.set('llama-server', { path: '/bin/llama-server', mark: 'upgraded' });
  await restart();
  expect(helpsAsked(engine)).toBe(2);
});

test('a binary that does not tell its flags is started with what every release takes', async ({ expect }) => {
  const engine = llama({ extra_args: ['--no-mmap'] });
  engine.processes.answer = () => ({ code: 127, output: 'error while loading shared libraries' });
  await startUp(engine);
  expect(engine.processes.specs[0]?.argv.slice(-3)).toEqual(['--parallel', '4', '--no-mmap']);
});

test('a program that is not there is told with the key that names it', async ({ expect }) => {
  const engine = llama({ llama_server_command: '/opt/llama/llama-server' });
  engine.programs.set('/opt/llama/llama-server', undefined);
  const start = watched(engine.driver.start(order().order));
  await engine.clock.advance(10);
  expect(failureOf(start)).toContain('/opt/llama/llama-server was not found');
  expect(failureOf(start)).toContain('set llama_server_command');
});

/** Lets the engine be asked for a sign of life, for as long as it is usually given. */
async function proves(engine: ReturnType<typeof llama>): Promise<boolean> {
  const limit = new AbortController();
  let found: boolean | undefined;
  void engine.driver.prove(limit.signal).then((proven) => (found = proven));
  await engine.clock.advance(15_000);
  limit.abort();
  await engine.clock.advance(0);
  if (found === undefined) throw new Error('the question outlived its limit');
  return found;
}

const isWork = ({ method }: EngineCall): boolean => method === 'POST';

test('an engine that makes a token is alive', async ({ expect }) => {
  const engine = llama();
  await startUp(engine);
  engine.http.reply = (call) => (isWork(call) ? answered(200) : HANG);
  expect(await proves(engine)).toBe(true);
  expect(engine.clock.pending).toBe(0);
});

test('an engine whose other routes answer while its loop hangs is not', async ({ expect }) => {
  const engine = llama();
  await startUp(engine);
  engine.http.reply = (call) => (isWork(call) ? HANG : answered(200, 'llamacpp:n_decode_total 7\n'));
  expect(await proves(engine)).toBe(false);
  expect(engine.clock.pending).toBe(0);
});

test('an engine whose every slot works on a long prompt is alive as long as it finishes batches', async ({
  expect,
}) => {
  const engine = llama();
  await startUp(engine);
  engine.http.reply = (call) =>
    isWork(call) ? HANG : answered(200, `llamacpp:n_decode_total ${Math.floor(engine.clock.now() / 9_000)}\n`);
  expect(await proves(engine)).toBe(true);
});

test('a model that only makes vectors is asked for one', async ({ expect }) => {
  const engine = llama();
  await startUp(engine);
  engine.http.reply = ({ url }) => answered(url.endsWith('/v1/embeddings') ? 200 : 501);
  expect(await proves(engine)).toBe(true);
});

test('an engine that answers work with an error is not alive', async ({ expect }) => {
  const engine = llama();
  await startUp(engine);
  engine.http.reply = (call) => answered(isWork(call) ? 500 : 404);
  expect(await proves(engine)).toBe(false);
});

test('a release whose flash attention is on or not gets it so', async ({ expect }) => {
  const old = HELP.replace(/^-fa,.*$/m, '-fa,   --flash-attn                       enable Flash Attention');
  for (const [value, there] of [
    ['on', true],
    ['auto', false],
    ['off', false],
  ] as const) {
    const engine = llama({ llama_server_flash_attn: value });
    engine.processes.answer = (argv) => ({ code: 0, output: argv.includes('--help') ? old : 'version: 1\n' });
    await startUp(engine);
    const words = engine.processes.specs[0]?.argv.join(' ') ?? '';
    expect([value, words.includes('--flash-attn'), words.includes(`attn ${value}`)]).toEqual([value, there, false]);
  }
});

test('a server that sleeps by itself is asked for nothing that would wake it, and shown as dozing', async ({
  expect,
}) => {
  const engine = llama({ sleep_idle_secs: 4 });
  await startUp(engine);
  expect(engine.processes.specs[0]?.argv.slice(-2)).toEqual(['--sleep-idle-seconds', '4']);
  const seen = engine.http.calls.length;
  const props = (sleeping: boolean) => answered(200, `{"chat_template":"{}","is_sleeping":${sleeping}}`);
  engine.http.reply = () => props(false);
  await engine.clock.advance(10_000);
  expect(engine.driver.dozes).toBe(false);
  engine.http.reply = () => props(true);
  await engine.clock.advance(10_000);
  expect(engine.driver.dozes).toBe(true);
  const asked = engine.http.calls.slice(seen).map(({ method, url }) => `${method} ${new URL(url).pathname}`);
  expect([new Set(asked), asked.length]).toEqual([new Set(['GET /props']), 10]);
  engine.processes.child.onSignal = () => engine.processes.child.exit(0);
  await Promise.all([engine.driver.stop(order(2).order), engine.clock.advance(50)]);
  expect([engine.driver.dozes, engine.clock.pending]).toEqual([false, 0]);
});

test('one that loads its model again is alive for as long as a start may take, and no longer', async ({ expect }) => {
  const engine = llama({ sleep_idle_secs: 4, startup_timeout_secs: 60 });
  await startUp(engine);
  engine.http.reply = () => answered(200, '{"is_sleeping":true}');
  await engine.clock.advance(4_000);
  // It loads: nothing answers.
  engine.http.reply = () => HANG;
  expect(await proves(engine)).toBe(true);
  await engine.clock.advance(30_000);
  expect(await proves(engine)).toBe(true);
  await engine.clock.advance(30_000);
  expect(await proves(engine)).toBe(false);
});

test('one that does not doze is held to its work like any other', async ({ expect }) => {
  const engine = llama({ sleep_idle_secs: 4 });
  await startUp(engine);
  engine.http.reply = (call) => (isWork(call) ? HANG : answered(200, '{"is_sleeping":false}'));
  expect(await proves(engine)).toBe(false);
});

test('a sleep among the extra arguments is looked at as well, and one that never comes is not', async ({ expect }) => {
  for (const [secs, dozes] of [
    ['3', true],
    ['-1', false],
  ] as const) {
    const engine = llama({ extra_args: ['--sleep-idle-seconds', secs] });
    await startUp(engine);
    engine.http.reply = () => answered(200, '{"is_sleeping":true}');
    await engine.clock.advance(6_000);
    expect([secs, engine.driver.dozes]).toEqual([secs, dozes]);
  }
});

test('a server that knows no sleep of its own is not started with one', async ({ expect }) => {
  const engine = llama({ sleep_idle_secs: 4 });
  const old = HELP.replaceAll('--sleep-idle-seconds', '--other');
  engine.processes.answer = (argv) => ({ code: 0, output: argv.includes('--help') ? old : 'version: 1\n' });
  const start = watched(engine.driver.start(order().order));
  await engine.clock.advance(10);
  expect(failureOf(start)).toBe(
    'models.alpha.sleep_idle_secs needs a llama-server that knows --sleep-idle-seconds, and llama-server 1 does not',
  );
});
