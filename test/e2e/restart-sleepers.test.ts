import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { JSON_BODY, writeConfig, type Catnap } from '../helpers/catnap.ts';
import { requireCriu } from '../helpers/criu.ts';
import { isAlive, test } from '../helpers/e2e.ts';
import { configOf, type Lane } from '../helpers/fault-lanes.ts';
import { Lab } from '../helpers/lab.ts';
import { randomModel } from '../helpers/models.ts';
import { survivors } from '../helpers/survivors.ts';
import { waitFor } from '../helpers/wait-for.ts';

/** So that what is frozen fits into the memory of the machine that plays this. */
const SMALL = { weightsMib: 600, kvMib: 800 };
const TOGETHER = ['--tensor-parallel-size', '2', '--enforce-eager', '--disable-custom-all-reduce'];

const at = (sleep_level: 2 | 3 | 4 | 'hybrid', name: string, extra_args: string[] = []): Lane => ({
  name,
  gpus: extra_args.length > 0 ? 2 : 1,
  model: (lab) => lab.vllm(SMALL, { sleep_level, levels_allowed: [sleep_level, 5], extra_args }),
  rows: [],
});
const LANES = [at(2, 'two'), at(3, 'three'), at('hybrid', 'hybrid', TOGETHER), at(4, 'four')];
const NAMES = LANES.map(({ name }) => name);

const Answer = z.object({ choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]) });

async function says(catnap: Catnap, model: string): Promise<string> {
  const { status, text } = await catnap.chat(model);
  return status === 200 ? Answer.parse(JSON.parse(text)).choices[0].message.content : `${status} ${text}`;
}

const each = <T>(what: (name: string) => Promise<T>): Promise<T[]> => Promise.all(NAMES.map(what));

/** Every model gives its place to another. */
const putAway = (catnap: Catnap): Promise<void[]> =>
  each(async (name) => expectWord(await says(catnap, `next-${name}`)));

/** How each lies there. */
const lies = (catnap: Catnap): Promise<{ residency: string; pid: unknown; holds: unknown }[]> =>
  each(async (name) => {
    const { residency, engines } = await catnap.model(name);
    return { residency, pid: engines[0]?.pid, holds: engines[0]?.holds };
  });

function expectWord(said: string): void {
  if (!/^\w/.test(said) || /^\d{3} /.test(said)) throw new Error(`it was not served: ${said}`);
}

const imagesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

/** The one that serves, which is not the one that was started first. */
const serving = (catnap: Catnap, folder: string): number | undefined =>
  survivors(folder).find(({ pid, command }) => command.includes('launch/catnap.mjs') && pid !== catnap.pid)?.pid;

test('sleepers of every level sleep on through a restart, and come back as they were and go again', async ({
  expect,
  start,
  launch,
  run,
  folder,
  skip,
}) => {
  const lab = new Lab(folder, [24_000, 24_000, 24_000, 24_000, 24_000]);
  lab.useCriu(await requireCriu({ skip }));
  const config = configOf(lab, LANES, {});
  const images = lab.root.checkpoint?.images_dir ?? '';
  const saved = (): string[] => imagesIn(images);
  const catnap = await start(config, { env: lab.env });
  const well = await each((name) => says(catnap, name));
  for (const said of well) expectWord(said);
  const pids = await each(async (name) => (await catnap.engine(name)).pid);
  await putAway(catnap);
  const asleep = await lies(catnap);
  const depths = [
    { residency: 'dropped', pid: pids[0] },
    { residency: 'suspended', pid: pids[1] },
    { residency: 'suspended', pid: pids[2] },
    { residency: 'disk', pid: null },
  ];
  expect(asleep).toMatchObject(depths);
  const [image] = saved();

  const { code, out, err } = await run(['restart', '--url', catnap.url]);
  expect([code, err]).toEqual([0, '']);
  for (const line of [/^level 2 +two$/m, /^level 3 +three$/m, /^level hybrid *hybrid$/m, /^level 4 +four$/m])
    expect(out).toMatch(line);
  await catnap.fact('left');
  expect(await lies(catnap)).toEqual(asleep);
  expect(saved()).toEqual([image]);

  expect(await each((name) => says(catnap, name))).toEqual(well);
  expect(await each(async (name) => (await catnap.engine(name)).pid)).toEqual(pids);
  expect(saved()).toEqual([]);
  await putAway(catnap);
  expect(await lies(catnap)).toMatchObject(depths);
  for (const kind of ['engine-failed', 'sleep-escalated', 'leftover-reaped', 'warned'])
    expect(await catnap.told(kind)).toEqual([]);
  expect(lab.ledger.events('refused')).toEqual([]);

  // Two asleep, and two awake: those that are frozen do not hear that they are to end, and are waited for.
  await Promise.all(['three', 'hybrid'].map((name) => says(catnap, name)));
  const other = serving(catnap, folder) ?? 0;
  catnap.signal('SIGKILL');
  process.kill(other, 'SIGKILL');
  await catnap.exited;
  await waitFor('both to have ended', () => !isAlive(other));
  await launch(config, { env: lab.env }).listens();
  expect(pids.filter(isAlive)).toEqual([]);
  expect(saved()).toEqual([]);
  expect(lab.ledger.holders()).toEqual([]);
});

const PROMPT = 'Once upon a time there was a light in the water and we did not know what it was for';

/** What a llama-server goes on to say, and how much of the prompt it had to read for that. */
async function tells(catnap: Catnap, model: string): Promise<{ text: string; read: number }> {
  const body = JSON.stringify({ model, prompt: PROMPT, max_tokens: 8, temperature: 0 });
  const { status, text } = await catnap.ask('/v1/completions', { body, headers: JSON_BODY });
  if (status !== 200) throw new Error(`${model} answered ${status}: ${text}`);
  const { choices, timings } = JSON.parse(text);
  return { text: choices[0].text, read: timings.prompt_n };
}

test('kept images go with their engines: one that was prepared is withdrawn when its engine fails, and others wait for the next start', async ({
  expect,
  start,
  run,
  folder,
  llama,
  skip,
}) => {
  const images_dir = join(folder, 'images');
  const more = { sleep_level: 4 as const, llama_server_n_ctx: 2_048, llama_server_parallel: 1 };
  const [alpha, beta] = await Promise.all([randomModel({ seed: 1 }), randomModel({ seed: 2 })]);
  const models = { alpha: llama.file(alpha, more), beta: llama.file(beta, more) };
  const checkpoint = { criu_path: await requireCriu({ skip }), images_dir, keep_images: true };
  const config = { models, checkpoint, restart: { first_delay_secs: 0.01 } };
  const written = await run(['--config', writeConfig(folder, config), 'checkpoint', 'alpha']);
  expect(written.code).toBe(0);
  const [prepared = ''] = imagesIn(images_dir);
  const catnap = await start(config);
  const { text } = await tells(catnap, 'alpha');
  expect(await catnap.told('engine-started')).toMatchObject([{ savedAt: expect.any(String) }]);
  const { pid } = await catnap.engine('alpha');
  await tells(catnap, 'beta');
  const asleep = imagesIn(images_dir);
  expect(asleep).toHaveLength(2);

  // One that has taken over and cannot listen gives it back as it was.
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  writeConfig(folder, { ...config, admin_port: typeof address === 'object' ? address?.port : 0 });
  expect((await run(['restart', '--url', catnap.url])).code).toBe(1);
  taken.close();
  await catnap.fact('restart-called-off');
  writeConfig(folder, config);

  expect((await run(['restart', '--url', catnap.url])).code).toBe(0);
  await catnap.fact('left');
  expect(imagesIn(images_dir)).toEqual(asleep);
  expect(await tells(catnap, 'alpha')).toEqual({ text, read: 1 });
  expect((await catnap.engine('alpha')).pid).toBe(pid);
  expect(imagesIn(images_dir)).toContain(prepared);

  process.kill(pid, 'SIGKILL');
  await catnap.fact('engine-failed', { engine: 'alpha#0' });
  await waitFor('its image to go', () => !imagesIn(images_dir).includes(prepared));
  expect((await tells(catnap, 'alpha')).text).toBe(text);
  expect((await catnap.engine('alpha')).pid).not.toBe(pid);
  expect((await catnap.stop()).code).toBe(0);
  expect(imagesIn(images_dir)).toEqual([expect.stringMatching(/^beta-0\./)]);

  expect(await tells(await start(config), 'beta')).toMatchObject({ read: 1 });
});
