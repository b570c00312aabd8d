import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/config/schema.ts';
import { writeConfig, type Catnap } from '../helpers/catnap.ts';
import { requireCriu } from '../helpers/criu.ts';
import { test as base, type Llama } from '../helpers/e2e.ts';
import { Lab } from '../helpers/lab.ts';
import { randomModel } from '../helpers/models.ts';
import { waitFor } from '../helpers/wait-for.ts';

const PROMPT = 'Once upon a time there was a light in the water and we did not know what it was for';

/** Two models that are written to disk for each other, by the real criu. */
const test = base.extend('disk', async ({ skip, folder, llama }) => {
  const criu = await requireCriu({ skip });
  const images = join(folder, 'images');
  return {
    criu,
    images,
    saved: () => (existsSync(images) ? readdirSync(images) : []),
    config: (more: Partial<ConfigInput['checkpoint']> = {}, model: LlamaMore = {}): Promise<ConfigInput> =>
      configOf(llama, { criu_path: criu, images_dir: images, ...more }, model),
  };
});

type LlamaMore = Parameters<Llama['file']>[1];

async function configOf(
  llama: Llama,
  checkpoint: ConfigInput['checkpoint'],
  model: LlamaMore = {},
): Promise<ConfigInput> {
  const more = { sleep_level: 4 as const, llama_server_n_ctx: 2_048, llama_server_parallel: 1, ...model };
  const [alpha, beta] = await Promise.all([randomModel({ seed: 1 }), randomModel({ seed: 2 })]);
  return { models: { alpha: llama.file(alpha, more), beta: llama.file(beta, more) }, checkpoint };
}

/** What a model goes on to say, and how much of the prompt it had to read for that. */
async function say(catnap: Catnap, model: string): Promise<{ text: string; read: number; cached: number }> {
  const body = JSON.stringify({ model, prompt: PROMPT, max_tokens: 16, temperature: 0 });
  const { status, text } = await catnap.ask('/v1/completions', {
    body,
    headers: { 'content-type': 'application/json' },
  });
  if (status !== 200) throw new Error(`${model} answered ${status}: ${text}`);
  const { choices, timings } = JSON.parse(text);
  return { text: choices[0].text, read: timings.prompt_n, cached: timings.cache_n };
}

/** Why an engine failed, each time it did. */
const reasons = async (catnap: Catnap): Promise<string[]> =>
  (await catnap.told('engine-failed')).map((line) => String(Object(line['failure']).reason));

test('two models take turns on disk: each time the same process goes on where it was', async ({
  expect,
  start,
  disk,
}) => {
  const catnap = await start(await disk.config());
  const alpha = await say(catnap, 'alpha');
  const { pid } = await catnap.engine('alpha');
  const beta = await say(catnap, 'beta');
  expect(alpha.text).not.toBe(beta.text);
  expect(alpha.read).toBeGreaterThan(10);
  expect(disk.saved()).toHaveLength(1);
  expect((await catnap.model('alpha')).engines[0]).toMatchObject({ pid: null });

  for (let round = 0; round < 5; round += 1) {
    expect(await say(catnap, 'alpha')).toEqual({ text: alpha.text, read: 1, cached: alpha.read - 1 });
    expect((await catnap.engine('alpha')).pid).toBe(pid);
    expect(await say(catnap, 'beta')).toEqual({ text: beta.text, read: 1, cached: beta.read - 1 });
    expect(disk.saved()).toHaveLength(1);
  }
  expect(await catnap.told('engine-started')).toHaveLength(2);
  expect(await reasons(catnap)).toEqual([]);
  expect((await catnap.stop()).code).toBe(0);
  expect(disk.saved()).toEqual([]);
});

test('an engine that came back and dies is noticed and started afresh', async ({ expect, start, disk }) => {
  const catnap = await start(await disk.config());
  const { text } = await say(catnap, 'alpha');
  await say(catnap, 'beta');
  await say(catnap, 'alpha');
  const { pid } = await catnap.engine('alpha');
  process.kill(pid, 'SIGKILL');
  await catnap.fact('engine-failed', { engine: 'alpha#0' });
  expect(await reasons(catnap)).toEqual(['llama-server has ended, and its way back from disk hides how']);
  expect((await say(catnap, 'alpha')).text).toBe(text);
  expect((await catnap.engine('alpha')).pid).not.toBe(pid);
});

test('where it cannot come back it is started afresh, and why is told', async ({ expect, start, disk }) => {
  const catnap = await start(await disk.config());
  const { text } = await say(catnap, 'alpha');
  const { port } = await catnap.engine('alpha');
  await say(catnap, 'beta');
  const listener = createServer().listen(port, '127.0.0.1');
  await once(listener, 'listening');
  expect((await say(catnap, 'alpha')).text).toBe(text);
  listener.close();
  await once(listener, 'close');
  expect(await reasons(catnap)).toEqual([
    `llama-server did not come back from disk: port ${port}, which it listens on, is in use by another program`,
  ]);
  expect(disk.saved()).toHaveLength(1);
});

test('an engine that cannot be written to disk is stopped, why is told, and the other is served', async ({
  expect,
  start,
  disk,
}) => {
  const catnap = await start(await disk.config({ images_max_mib: 1 }));
  await say(catnap, 'alpha');
  const { pid } = await catnap.engine('alpha');
  await say(catnap, 'beta');
  expect(await catnap.told('sleep-escalated')).toMatchObject([
    {
      from: 4,
      to: 5,
      reason: expect.stringMatching(
        /^llama-server cannot sleep at level 4: its image takes about \d+ MiB, and of checkpoint/,
      ),
    },
  ]);
  expect(await reasons(catnap)).toEqual([]);
  expect(disk.saved()).toEqual([]);
  await say(catnap, 'alpha');
  expect((await catnap.engine('alpha')).pid).not.toBe(pid);
});

test('where only one fits, the one that has been on disk makes room, and is started afresh when it is wanted', async ({
  expect,
  start,
  disk,
}) => {
  const catnap = await start(await disk.config({ images_max_mib: 20 }));
  const { text } = await say(catnap, 'alpha');
  await say(catnap, 'beta');
  expect(disk.saved()).toHaveLength(1);
  await catnap.ask('/control/sleep', {
    body: JSON.stringify({ model: 'beta', level: 4 }),
    headers: { 'content-type': 'application/json' },
  });
  expect(disk.saved()).toEqual([expect.stringMatching(/^beta-0/)]);
  expect((await catnap.told('warned')).map(({ message }) => message)).toEqual([
    expect.stringMatching(/^alpha#0: its image was removed to make room for that of beta#0/),
  ]);
  // Nobody is told that it sleeps, and its start is no wake that failed.
  await waitFor('alpha to be off', async () => (await catnap.model('alpha')).engines[0]?.phase === 'off');
  expect((await catnap.model('alpha')).residency).toBe('none');
  expect(await say(catnap, 'alpha')).toMatchObject({ text, cached: 0 });
  expect(await reasons(catnap)).toEqual([]);
});

test('without criu an engine is stopped, and what to install is told', async ({ expect, start, disk }) => {
  const catnap = await start(await disk.config({ criu_path: '/no/such/criu' }));
  await say(catnap, 'alpha');
  await say(catnap, 'beta');
  const reason =
    'sleep level 4 needs criu, and /no/such/criu is not there: install criu 4 or newer, or set checkpoint.criu_path';
  expect(await catnap.told('sleep-escalated')).toMatchObject([{ from: 4, to: 5, reason }]);
});

test('after kill -9 of catnap nothing is left of an engine on disk once it has started again', async ({
  expect,
  launch,
  disk,
}) => {
  const config = await disk.config();
  const first = await launch(config).listens();
  await say(first, 'alpha');
  const { text } = await say(first, 'beta');
  await say(first, 'alpha');
  await say(first, 'beta');
  const { pid } = await first.engine('beta');
  first.signal('SIGKILL');
  await first.exited;
  expect(disk.saved()).toHaveLength(1);

  const second = await launch(config).listens();
  expect(disk.saved()).toEqual([]);
  expect(
    (await second.told('leftover-reaped')).map(({ engine, pid: old, gone }) => [engine, old, gone]),
  ).toContainEqual(['beta#0', pid, true]);
  expect((await say(second, 'beta')).text).toBe(text);
});

test('what was written ahead answers the first request of every later catnap, with what it has read', async ({
  expect,
  start,
  run,
  folder,
  disk,
}) => {
  const config = await disk.config();
  const written = join(folder, 'requests.jsonl');
  writeFileSync(written, `${JSON.stringify({ prompt: PROMPT })}\n`);
  const path = writeConfig(folder, config);
  const { code, out, err } = await run(['--config', path, 'checkpoint', 'alpha', '--requests', written, '--json']);
  expect([code, err.split('\n')[0]]).toEqual([0, 'alpha: it is started']);
  const { bytes, port } = JSON.parse(out);
  expect(bytes).toBeGreaterThan(1_000_000);
  for (let round = 0; round < 2; round += 1) {
    const catnap = await start(config);
    expect(await say(catnap, 'alpha')).toMatchObject({ read: 1 });
    expect(await catnap.told('engine-started')).toMatchObject([{ port, savedAt: expect.any(String) }]);
    expect((await catnap.engine('alpha')).port).toBe(port);
    expect((await catnap.stop()).code).toBe(0);
    expect(disk.saved()).toHaveLength(1);
  }
});

test('what was written ahead is an engine on the GPUs of its stage', async ({ expect, start, run, folder, skip }) => {
  const lab = new Lab(folder, [4_000, 24_000]);
  lab.useCriu(await requireCriu({ skip }));
  const stages = { left: { gpus: [0] }, right: { gpus: [1] } };
  const config = { ...lab.root, stages, models: { alpha: lab.vllm({}, { stage: 'right', sleep_level: 4 }) } };
  const { code } = await run(['--config', writeConfig(folder, config), 'checkpoint', 'alpha'], { env: lab.env });
  expect(code).toBe(0);
  const catnap = await start(config, { env: lab.env });
  await catnap.chat('alpha');
  expect(await catnap.told('engine-started')).toMatchObject([{ savedAt: expect.any(String) }]);
});

test('what no later catnap could bring back is not written ahead, and why is told', async ({
  expect,
  run,
  folder,
  skip,
}) => {
  const lab = new Lab(folder);
  lab.useCriu(await requireCriu({ skip }));
  const adapters = { extra_args: ['--enable-lora'], env: { VLLM_ALLOW_RUNTIME_LORA_UPDATING: '1' } };
  const config = writeConfig(folder, { ...lab.root, models: { alpha: lab.vllm({}, adapters) } });
  const { code, err } = await run(['--config', config, 'checkpoint', 'alpha'], { env: lab.env });
  expect([code, err]).toEqual([1, expect.stringContaining('an image of vLLM with adapters is not kept')]);
  expect(lab.ledger.events('criu')).toEqual([]);
});

test('where images are kept, an engine on disk outlives its catnap, and comes back once where nothing has changed', async ({
  expect,
  start,
  launch,
  disk,
}) => {
  const config = await disk.config({ keep_images: true });
  const first = await start(config);
  const alpha = await say(first, 'alpha');
  const { pid } = await first.engine('alpha');
  await say(first, 'beta');
  expect((await first.stop()).code).toBe(0);
  expect(disk.saved()).toHaveLength(1);

  const second = await launch(config).listens();
  expect(await say(second, 'alpha')).toEqual({ text: alpha.text, read: 1, cached: alpha.read - 1 });
  expect((await second.engine('alpha')).pid).toBe(pid);
  expect(disk.saved()).toEqual([]);
  await say(second, 'beta');
  second.signal('SIGKILL');
  await second.exited;
  expect(disk.saved()).toHaveLength(1);

  const third = await start(await disk.config({ keep_images: true }, { llama_server_n_ctx: 4_096 }));
  expect(await say(third, 'alpha')).toMatchObject({ text: alpha.text, cached: 0 });
  expect((await third.told('warned')).map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/^alpha#0: it is started afresh and not brought back .*: its command line, its environment/),
  );
  expect(disk.saved()).toEqual([]);
});

test('a catnap killed in the middle of a dump leaves neither criu nor the engine behind', async ({
  expect,
  launch,
  folder,
  disk,
}) => {
  const slow = join(folder, 'slow-criu');
  const waits = `echo > '${folder}/began'; sleep 600`;
  writeFileSync(slow, `#!/bin/sh\n[ "$1" = dump ] && { ${waits}; }\nexec '${disk.criu}' "$@"\n`, { mode: 0o755 });
  const config = await disk.config({ criu_path: slow });
  const first = await launch(config).listens();
  await say(first, 'alpha');
  void first.chat('beta').catch(() => {});
  await waitFor('criu to begin', () => existsSync(join(folder, 'began')));
  first.signal('SIGKILL');
  await first.exited;
  await launch(config).listens();
  expect(disk.saved()).toEqual([]);
});
