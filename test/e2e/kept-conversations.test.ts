import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kvBytesPerToken } from '../../src/adapters/kv-size.ts';
import { stateDir, type Catnap } from '../helpers/catnap.ts';
import { test, type Llama } from '../helpers/e2e.ts';
import { randomModel } from '../helpers/models.ts';

const STORY = 'Once upon a time there was a light in the water and we did not know what it was for';
const SONG = 'My name is what you find when the old tree sings about great animals in the stream of sleep';

type More = NonNullable<Parameters<Llama['file']>[1]>;

async function two(llama: Llama, more: More = {}) {
  const [alpha, beta] = await Promise.all([randomModel({ seed: 1 }), randomModel({ seed: 2 })]);
  const keeping = { keep_kv: true, llama_server_n_ctx: 2_048, ...more };
  return { alpha: llama.file(alpha, keeping), beta: llama.file(beta) };
}

/** What a model goes on to say, and how much of the prompt it had to read for that. */
async function say(catnap: Catnap, model: string, prompt: string) {
  const body = JSON.stringify({ model, prompt, max_tokens: 12, temperature: 0 });
  const { status, text } = await catnap.ask('/v1/completions', {
    body,
    headers: { 'content-type': 'application/json' },
  });
  if (status !== 200) throw new Error(`${model} answered ${status}: ${text}`);
  const { choices, timings } = JSON.parse(text);
  return { text: choices[0].text, read: timings.prompt_n, cached: timings.cache_n };
}

/** The files of conversations that lie on disk. */
function onDisk(folder: string): string[] {
  const all = join(stateDir(folder), 'conversations');
  return existsSync(all) ? readdirSync(all).flatMap((name) => readdirSync(join(all, name))) : [];
}

test('several conversations are there after a swap away and back, and lie on disk in between alone', async ({
  expect,
  start,
  llama,
  folder,
}) => {
  const catnap = await start({ models: await two(llama) });
  const story = await say(catnap, 'alpha', STORY);
  const song = await say(catnap, 'alpha', SONG);
  expect([story.cached, song.cached]).toEqual([0, 0]);
  const { pid } = await catnap.engine('alpha');
  expect(onDisk(folder)).toEqual([]);
  await say(catnap, 'beta', STORY);
  expect(onDisk(folder).toSorted()).toEqual(['kept.json', 'slot-0.bin', 'slot-1.bin'].toSorted());

  expect(await say(catnap, 'alpha', STORY)).toEqual({ text: story.text, read: 1, cached: story.read - 1 });
  expect(await say(catnap, 'alpha', SONG)).toEqual({ text: song.text, read: 1, cached: song.read - 1 });
  expect((await catnap.engine('alpha')).pid).not.toBe(pid);
  expect(onDisk(folder)).toEqual([]);
  expect(await catnap.told('warned')).toEqual([]);
});

test('as much room is asked for as is written in the end; what would not fit is not begun, and that is told', async ({
  expect,
  start,
  llama,
  folder,
}) => {
  const models = await two(llama, { llama_server_n_ctx: 8_192 });
  const catnap = await start({ keep_kv_max_mib: 1, models });
  const { read } = await say(catnap, 'alpha', STORY);
  await say(catnap, 'beta', STORY);
  const [kept = ''] = readdirSync(join(stateDir(folder), 'conversations'));
  const { size } = statSync(join(stateDir(folder), 'conversations', kept, 'slot-0.bin'));
  const modelFile = models.alpha.model_path;
  const guessed = (read + 12) * ((await kvBytesPerToken({ modelFile, typeK: 'f16', typeV: 'f16' })) ?? 0);
  expect(size / guessed).toBeGreaterThan(0.85);
  expect(size / guessed).toBeLessThan(1.01);

  const long = await say(catnap, 'alpha', `${STORY} `.repeat(Math.ceil(3_000 / read)));
  expect((long.read + long.cached) * (size / (read + 12))).toBeGreaterThan(1_048_576);
  await say(catnap, 'beta', STORY);
  expect(onDisk(folder)).toEqual([]);
  expect((await catnap.told('warned')).map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /^alpha#0: what was read of the conversations is not kept: it takes about \d MiB, and keep_kv_max_mib allows 1 MiB/,
    ),
  ]);
});

test('without keep_kv nothing is written and everything is read again', async ({ expect, start, llama, folder }) => {
  const catnap = await start({ models: await two(llama, { keep_kv: false }) });
  const story = await say(catnap, 'alpha', STORY);
  await say(catnap, 'beta', STORY);
  expect(onDisk(folder)).toEqual([]);
  expect(await say(catnap, 'alpha', STORY)).toEqual(story);
});

test('they outlive catnap, but not a change of the model or its flags', async ({ expect, launch, llama, folder }) => {
  const models = await two(llama);
  const first = await launch({ models }).listens();
  const story = await say(first, 'alpha', STORY);
  expect((await first.stop()).code).toBe(0);
  expect(onDisk(folder)).toContain('kept.json');

  const second = await launch({ models }).listens();
  expect(await say(second, 'alpha', STORY)).toEqual({ text: story.text, read: 1, cached: story.read - 1 });
  expect((await second.stop()).code).toBe(0);

  const other = { ...models, alpha: { ...models.alpha, llama_server_n_ctx: 1_024 } };
  const third = await launch({ models: other }).listens();
  expect((await say(third, 'alpha', STORY)).cached).toBe(0);
  expect((await third.stop()).code).toBe(0);

  const off = { ...models, alpha: { ...models.alpha, keep_kv: false } };
  await launch({ models: off }).listens();
  expect(onDisk(folder)).toEqual([]);
});

test('an engine that died has kept nothing, and one that hangs is stopped without', async ({
  expect,
  start,
  llama,
  folder,
}) => {
  const catnap = await start({ models: await two(llama), stop_grace_secs: 0.5 });
  await say(catnap, 'alpha', STORY);
  process.kill((await catnap.engine('alpha')).pid, 'SIGKILL');
  await catnap.fact('engine-failed', { engine: 'alpha#0' });
  expect((await say(catnap, 'alpha', STORY)).cached).toBe(0);
  process.kill((await catnap.engine('alpha')).pid, 'SIGSTOP');
  await say(catnap, 'beta', STORY);
  expect((await catnap.told('warned')).map(({ message }) => message)).toEqual([
    'alpha#0: what was read of the conversations is not kept: it does not answer',
  ]);
  expect(onDisk(folder)).toEqual([]);
});

test('a model of which too little could be saved is refused with the reason, and serves', async ({
  expect,
  start,
  llama,
  folder,
}) => {
  const windowed = join(folder, 'windowed.gguf');
  // As if its attention looked back through a window, by its file.
  const bytes = readFileSync(await randomModel({ seed: 1 }));
  writeFileSync(windowed, withWindow(bytes));
  const models = { alpha: llama.file(windowed, { keep_kv: true }), beta: llama.file(await randomModel({ seed: 2 })) };
  const catnap = await start({ models });
  await say(catnap, 'alpha', STORY);
  await say(catnap, 'beta', STORY);
  expect((await catnap.told('warned')).map(({ message }) => message)).toEqual([
    'alpha#0: keep_kv has no effect: its attention looks back through a window, of which llama-server saves too little',
  ]);
  expect(onDisk(folder)).toEqual([]);
});

test('a server that has put itself to sleep is not woken for its end', async ({ expect, start, llama, folder }) => {
  const catnap = await start({ models: await two(llama, { extra_args: ['--sleep-idle-seconds', '1'] }) });
  await say(catnap, 'alpha', STORY);
  await expect
    .poll(async () => JSON.parse((await catnap.get('/props?model=alpha')).text))
    .toMatchObject({ is_sleeping: true });
  await say(catnap, 'beta', STORY);
  const log = readdirSync(join(stateDir(folder), 'logs')).find((name) => name.startsWith('alpha')) ?? '';
  const printed = (): string => readFileSync(join(stateDir(folder), 'logs', log), 'utf8');
  await expect.poll(printed).toMatch(/entering sleeping state/);
  expect(printed()).not.toMatch(/exiting sleeping state/);
  expect([onDisk(folder), await catnap.told('warned')]).toEqual([[], []]);
});

/** More keys in the header, 96 bytes of them, so that the tensors after it stay where their alignment has them. */
function withWindow(file: Buffer): Buffer {
  const text = (value: string): Buffer => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(value.length));
    return Buffer.concat([length, Buffer.from(value)]);
  };
  const word = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return bytes;
  };
  const window = Buffer.concat([text('llama.attention.sliding_window'), word(4), word(64)]);
  const filler = Buffer.concat([text('x'), word(8), text('x'.repeat(29))]);
  const head = Buffer.from(file.subarray(0, 24));
  head.writeBigUInt64LE(head.readBigUInt64LE(16) + 2n, 16);
  return Buffer.concat([head, window, filler, file.subarray(24)]);
}
