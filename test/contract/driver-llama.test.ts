import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import type { ModelInput } from '../../src/config/schema.ts';
import type { Driver } from '../../src/engines/driver.ts';
import { requireLlama } from '../helpers/llama.ts';
import { randomModel, sayModel } from '../helpers/models.ts';
import { testFolder } from '../helpers/survivors.ts';
import { awake, chat, driverContract, streaming } from './driver.ts';
import { order, test } from './engines.ts';

const SAYS = 'Hello from alpha, the first model.';
/** Two threads on two busy cores wait for each other most of the time. */
const ONE_THREAD = ['--threads', '1'];

/** Made of random weights, and large enough to be slow. */
const babbler = () => randomModel({ seed: 7, targetMb: 100 });
const LONG_ASK = { prompt: 'water', max_tokens: 1_500, ignore_eos: true };

type LlamaInput = Extract<ModelInput, { backend: 'llama_server' }>;
type Context = Pick<TestContext, 'skip'>;

async function llama(context: Context, model: Promise<string> | string, more: Partial<LlamaInput> = {}) {
  const input: LlamaInput = {
    ...{ backend: 'llama_server', model_path: await model, llama_server_command: await requireLlama(context) },
    ...{ llama_server_n_ctx: 2_048, llama_server_parallel: 2, extra_args: ONE_THREAD },
    ...more,
  };
  return input;
}

/** The same server as one that nothing is known of. */
async function anyServer(context: Context, model: Promise<string>): Promise<ModelInput> {
  const rest = ['--ctx-size', '2048', '--parallel', '2', ...ONE_THREAD];
  const server = await requireLlama(context);
  return {
    backend: 'command',
    command: [server, '--port', '${PORT}', '--model', await model, '--alias', '${MODEL}', ...rest],
  };
}

async function crash(driver: Driver): Promise<void> {
  if (driver.running !== undefined) process.kill(driver.running.pid, 'SIGSEGV');
}

driverContract('llama-server', {
  model: (context) => llama(context, sayModel(SAYS)),
  says: SAYS,
  slowToStart: (context) => llama(context, babbler()),
  longStream: { model: (context) => llama(context, babbler()), ask: LONG_ASK },
  crash,
});

driverContract('a command', {
  model: (context) => anyServer(context, sayModel(SAYS)),
  says: SAYS,
  slowToStart: (context) => anyServer(context, babbler()),
  longStream: { model: (context) => anyServer(context, babbler()), ask: LONG_ASK },
  crash,
});

test('a crash of llama-server is told with its signal', async ({ engines, expect, skip }) => {
  const { driver, exits } = engines.make(await llama({ skip }, sayModel(SAYS)));
  await driver.start(order().order);
  await crash(driver);
  await expect.poll(() => exits[0]?.reason).toContain('llama-server was ended by SIGSEGV (it crashed)');
});

test('a model file that is missing, cut short or none is told by the line that says so', async ({
  engines,
  expect,
  skip,
}) => {
  const folder = testFolder();
  const whole = await sayModel(SAYS);
  const [cutShort, none] = [join(folder.path, 'cut.gguf'), join(folder.path, 'none.gguf')];
  writeFileSync(cutShort, readFileSync(whole).subarray(0, 100_000));
  writeFileSync(none, 'This is no model.');
  const cases = [
    { file: join(folder.path, 'missing.gguf'), tells: /failed to open GGUF file '.*missing.gguf' \(No such file/ },
    { file: cutShort, tells: /corrupted or incomplete/ },
    { file: none, tells: /invalid magic/ },
  ];
  for (const { file, tells } of cases) {
    const { driver, exits } = engines.make(await llama({ skip }, file));
    await expect(driver.start(order().order)).rejects.toThrow(tells);
    expect(driver.tail(20).join('\n')).toMatch(tells);
    await driver.stop(order(2).order);
    expect([driver.running, exits]).toEqual([undefined, []]);
  }
  folder.remove();
});

test('a port that somebody else has fails the start with the key, and he keeps it', async ({
  engines,
  expect,
  skip,
}) => {
  const port = await engines.takenPort();
  const { driver } = engines.make(await llama({ skip }, sayModel(SAYS), { port }));
  await expect(driver.start(order().order)).rejects.toThrow(
    `port ${port} is in use by another program: end it, or change models.alpha.port`,
  );
  expect(driver.running).toBeUndefined();
});

test('flags of other releases are told before the start, with what this one writes', async ({
  engines,
  expect,
  skip,
}) => {
  const { driver } = engines.make(await llama({ skip }, sayModel(SAYS), { extra_args: ['--no-mmap', '-fa'] }));
  await expect(driver.start(order().order)).rejects.toThrow(
    /does not fit .*llama-server [\w.]+ \(build .*\): --no-mmap is not known: write --load-mode none; -fa needs a value/,
  );
});

test('every flag that catnap sets is taken, and those of the user win', async ({ engines, expect, skip }) => {
  const model = await llama({ skip }, sayModel(SAYS), {
    ...{ llama_server_n_gpu_layers: -1, api_key: 'sk-1', served_model_name: 'gpt' },
    extra_args: ['-c', '512', '--no-kv-unified', '-np', '1', ...ONE_THREAD],
  });
  const { driver } = engines.make(model);
  await driver.start(order().order);
  const { origin, headers } = awake(driver);
  const props: unknown = await (await fetch(`${origin}/props`, { headers })).json();
  expect(props).toMatchObject({
    ...{ total_slots: 1, model_alias: 'gpt', endpoint_metrics: true, endpoint_slots: true },
    default_generation_settings: { n_ctx: 512 },
  });
  expect(await chat(awake(driver))).toBe(SAYS);
  expect((await fetch(`${origin}/v1/completions`, { method: 'POST', body: '{}' })).status).toBe(401);
  expect(driver.running?.commandLine).not.toContain('sk-1');
});

test('each slot may use the whole context', async ({ engines, expect, skip }) => {
  const { driver } = engines.make(await llama({ skip }, sayModel(SAYS), { llama_server_parallel: 4 }));
  await driver.start(order().order);
  const slots: unknown = await (await fetch(`${awake(driver).origin}/slots`)).json();
  expect(slots).toMatchObject([{ n_ctx: 2_048 }, { n_ctx: 2_048 }, { n_ctx: 2_048 }, { n_ctx: 2_048 }]);
});

test('a long prompt on every slot is taken for work', async ({ engines, expect, skip }) => {
  const slow = await llama({ skip }, babbler(), {
    llama_server_parallel: 1,
    extra_args: [...ONE_THREAD, '--batch-size', '64', '--ubatch-size', '64'],
  });
  const { driver } = engines.make(slow);
  await driver.start(order().order);
  const { origin, gone } = awake(driver);
  const body = JSON.stringify({ prompt: 'water light '.repeat(800), max_tokens: 1, cache_prompt: false });
  const readOne = async (): Promise<string> =>
    (await fetch(`${origin}/v1/completions`, { method: 'POST', body, signal: gone })).text();
  // One after the other, so that one of them is being read whenever somebody looks.
  const readOn = async (): Promise<never> => {
    for (;;) await readOne();
  };
  const cut = expect(readOn()).rejects.toThrow();
  await expect.poll(async () => (await fetch(`${origin}/slots`)).text()).toContain('"is_processing":true');
  expect(await driver.prove(AbortSignal.timeout(20_000))).toBe(true);
  await driver.stop(order(2).order);
  await cut;
});

test('a frozen engine proves nothing, and is ended all the same', async ({ engines, expect, skip }) => {
  const { driver, exits } = engines.make(await llama({ skip }, sayModel(SAYS), { stop_grace_secs: 0.1 }));
  await driver.start(order().order);
  if (driver.running !== undefined) process.kill(driver.running.pid, 'SIGSTOP');
  expect(await driver.prove(AbortSignal.timeout(1_000))).toBe(false);
  await driver.stop(order(2).order);
  expect([driver.running, exits]).toEqual([undefined, []]);
});

test('a request that is held open does not hold up a stop for longer than the grace', async ({
  engines,
  expect,
  skip,
}) => {
  const { driver } = engines.make(await llama({ skip }, babbler(), { stop_grace_secs: 0.5 }));
  await driver.start(order().order);
  const backend = awake(driver);
  const stream = await streaming(backend, LONG_ASK);
  const whole = fetch(`${backend.origin}/v1/completions`, { method: 'POST', body: JSON.stringify(LONG_ASK) }).then(
    ({ ok }) => ok,
    () => false,
  );
  const { actMs } = await driver.stop(order(2).order);
  expect(await Promise.all([stream.endedWell, whole])).toEqual([false, false]);
  expect(actMs).toBeGreaterThan(0);
});

test('the `gguf_` names reach the server, and a load that wants others has them', async ({ engines, expect, skip }) => {
  const extra = [...ONE_THREAD, '-np', '1', '-lv', '4'];
  const model: Extract<ModelInput, { backend: 'llama_cpp' }> = {
    backend: 'llama_cpp',
    model_path: await sayModel(SAYS),
    llama_server_command: await requireLlama({ skip }),
    gguf_n_ctx: 2_048,
    gguf_n_gpu_layers: 0,
    gguf_flash_attn: 'on',
    gguf_type_k: 'f32',
    gguf_type_v: 'f32',
    extra_args: extra,
  };
  const contextOf = async (driver: Driver): Promise<unknown> => {
    const props: unknown = await (await fetch(`${awake(driver).origin}/props`)).json();
    return props;
  };
  const plain = engines.make(model);
  await plain.driver.start(order(1).order);
  expect(await contextOf(plain.driver)).toMatchObject({ default_generation_settings: { n_ctx: 2_048 } });
  expect(plain.driver.tail(2_000).join('\n')).toMatch(/K \(f32\).*V \(f32\)/);
  expect(await chat(awake(plain.driver))).toBe(SAYS);
  await plain.driver.stop(order(2).order);

  const wants = { gguf_n_ctx: 1_024, gguf_type_k: 'bf16', gguf_type_v: null };
  const { driver } = engines.make({ ...model, extra_args: [...extra, '-c', '512'] }, {}, wants);
  await driver.start(order(1).order);
  expect(await contextOf(driver)).toMatchObject({ default_generation_settings: { n_ctx: 1_024 } });
  expect(driver.tail(2_000).join('\n')).toMatch(/K \(bf16\).*V \(f16\)/);
  expect(await chat(awake(driver))).toBe(SAYS);
});

test('a server that sleeps by itself is seen to, is not woken by being looked at, and comes back for a request', async ({
  engines,
  expect,
  skip,
}) => {
  const model = await llama({ skip }, sayModel(SAYS), { sleep_idle_secs: 1, extra_args: [...ONE_THREAD, '-lv', '4'] });
  const { driver } = engines.make(model);
  await driver.start(order().order);
  const pid = driver.running?.pid;
  const wakes = (): number =>
    driver.tail(2_000).filter((line) => line.includes('start_loop: exiting sleeping state')).length;
  await expect.poll(() => driver.dozes).toBe(true);
  // It would be seen awake if one of the looks had woken it.
  for (let look = 0; look < 3; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(driver.dozes).toBe(true);
  }
  expect(wakes()).toBe(0);
  expect(await chat(awake(driver))).toBe(SAYS);
  expect([wakes(), driver.running?.pid]).toEqual([1, pid]);
  await expect.poll(() => driver.dozes).toBe(true);
  await driver.stop(order(2).order);
  expect([driver.dozes, driver.running]).toEqual([false, undefined]);
});
