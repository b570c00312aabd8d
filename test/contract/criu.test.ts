import { once } from 'node:events';
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { CriuCheckpoints } from '../../src/adapters/checkpoints.ts';
import { Criu } from '../../src/adapters/criu.ts';
import { ImageStore } from '../../src/adapters/images.ts';
import { openProcesses, type SystemProcesses } from '../../src/adapters/processes.ts';
import { systemPrograms } from '../../src/adapters/programs.ts';
import { engineId, modelId } from '../../src/core/kinds.ts';
import type { Checkpoint, Returning } from '../../src/ports/checkpoints.ts';
import type { Child } from '../../src/ports/process.ts';
import { requireCriu } from '../helpers/criu.ts';
import { requireLlama } from '../helpers/llama.ts';
import { randomModel } from '../helpers/models.ts';
import { killSurvivors, noSurvivors, testFolder } from '../helpers/survivors.ts';
import { waitFor } from '../helpers/wait-for.ts';

const model = modelId('alpha');
const engine = engineId(model, 0);
const PROMPT = 'Once upon a time there was a light in the water and we did not know what it was for';

type Scene = {
  readonly folder: string;
  readonly criu: string;
  readonly llama: string;
  readonly processes: SystemProcesses;
  readonly checkpoints: CriuCheckpoints;
  readonly images: ImageStore;
  readonly problems: string[];
};

/** A catnap without its upper floors: the supervision of processes, and criu. */
const test = base.extend('scene', async ({ skip }, { onCleanup }): Promise<Scene> => {
  const criu = await requireCriu({ skip });
  const llama = await requireLlama({ skip });
  const { path: folder, remove } = testFolder();
  const problems: string[] = [];
  const processes = await openProcesses({
    stateDir: join(folder, 'state'),
    logMaxBytes: 4_096,
    onProblem: (message) => problems.push(message),
  });
  onCleanup(async () => {
    try {
      await noSurvivors(folder);
    } finally {
      killSurvivors(folder);
      await processes.close();
      remove();
    }
  });
  const images = storeIn(join(folder, 'images'), processes);
  return { folder, criu, llama, processes, problems, images, checkpoints: checkpointsOf(criu, images, processes) };
});

function storeIn(folder: string, { host }: SystemProcesses, maxBytes = 0): ImageStore {
  const { table, state } = host;
  if (table === undefined) throw new Error('there is no process table');
  return new ImageStore({ folder, maxBytes, table, state });
}

function checkpointsOf(command: string, images: ImageStore, processes: SystemProcesses): CriuCheckpoints {
  const { host } = processes;
  const programs = systemPrograms(process.env);
  const criu = new Criu(
    { command, plugins: undefined, cudaCheckpoint: 'cuda-checkpoint' },
    { programs, processes, isRoot: process.geteuid?.() === 0 },
  );
  const portIsFree = (port: number): Promise<boolean> => processes.portIsFree(port);
  const onProblem = (message: string): never => {
    throw new Error(message);
  };
  return new CriuCheckpoints({ host, criu, images, programs, portIsFree, onProblem });
}

type Engine = { child: Child; readonly port: number; readonly origin: string };

type Argv = [string, ...string[]];

async function started(
  { processes, folder, llama }: Scene,
  wrapped: (argv: Argv) => Argv = (argv) => argv,
): Promise<Engine> {
  const port = await processes.freePort();
  const flags = ['--threads', '1', '--parallel', '2', '--ctx-size', '2048', '--no-ui', '--offline'];
  const child = await processes.spawn({
    engine,
    model,
    argv: wrapped([llama, '--port', String(port), '--model', await randomModel({ seed: 1 }), ...flags]),
    env: { TEST_FOLDER: folder },
    cwd: undefined,
    port,
  });
  const origin = `http://127.0.0.1:${port}`;
  await waitFor('llama-server to be ready', () => answers(`${origin}/health`));
  return { child, port, origin };
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) });
    await answer.text();
    return answer.ok;
  } catch {
    return false;
  }
}

/** What it says, and how much of the prompt it had to read for that. */
async function say({ origin }: Engine): Promise<{ text: string; read: number; cached: number }> {
  const answer = await fetch(`${origin}/completion`, {
    method: 'POST',
    body: JSON.stringify({ prompt: PROMPT, n_predict: 16, temperature: 0, id_slot: 0 }),
  });
  const { content, timings } = JSON.parse(await answer.text());
  return { text: content, read: timings.prompt_n, cached: timings.cache_n };
}

const never = new AbortController().signal;
const save = (
  { checkpoints }: Pick<Scene, 'checkpoints'>,
  { child, port }: Engine,
  signal = never,
): Promise<Checkpoint> => checkpoints.save(child, { engine, model, port }, signal);

async function restored(checkpoint: Checkpoint, on: Engine): Promise<Returning> {
  const returning = await checkpoint.restore(never);
  on.child = returning.child;
  await returning.back;
  return returning;
}

/** Kills it, and proves that nothing is left. */
async function end({ child }: Engine): Promise<void> {
  child.signal('SIGKILL');
  await waitFor('its end', async () => {
    const left = await child.members();
    if (left.length > 0) child.signal('SIGKILL');
    return left.length === 0;
  });
  await child.forget();
}

/** A criu that does something else first, or in between, when it is told to dump or to restore. */
function meddling(
  { criu, folder, images, processes }: Scene,
  what: 'dump' | 'restore',
  script: string,
): CriuCheckpoints {
  const path = join(folder, 'meddling-criu');
  const rest = `*) exec '${criu}' "$@" ;;`;
  writeFileSync(path, `#!/bin/sh\ncase "$1" in ${what}) ${script} ;;\n${rest}\nesac\n`, { mode: 0o755 });
  return checkpointsOf(path, images, processes);
}

/** Finds the folder of the image among the arguments. */
const IMAGES = `for word; do case "$last" in --images-dir) images=$word ;; esac; last=$word; done`;

/** Kills criu with everything it has made its child as soon as there is such a file in the folder of the image. */
const killedAt = ({ criu }: Scene, file: string): string => `
  ${IMAGES}
  '${criu}' "$@" & pid=$!
  while [ ! -s "$images/${file}" ] && [ -e /proc/$pid ]; do :; done
  kill -KILL $pid; wait $pid; exit 137`;

test('ten times to disk and back: the same process, the same answer, and nothing of the prompt is read again', async ({
  expect,
  scene,
}) => {
  expect(await scene.checkpoints.hindrance()).toBeUndefined();
  const on = await started(scene);
  const { pid } = on.child;
  const before = await say(on);
  for (let cycle = 0; cycle < 10; cycle += 1) {
    const checkpoint = await save(scene, on);
    expect(await on.child.members()).toEqual([]);
    expect(checkpoint.bytes).toBeGreaterThan(100_000);
    await restored(checkpoint, on);
    await checkpoint.drop();
    expect(on.child.pid).toBe(pid);
    expect(await say(on)).toEqual({ text: before.text, read: 1, cached: before.read - 1 });
  }
  expect(readdirSync(scene.images.folder)).toEqual([]);
  const mark = `CATNAP_ENGINE=${scene.processes.host.markOf(on.child)}`;
  expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).toContain(mark);
  await end(on);
  await on.child.exited;
  expect(readdirSync(join(scene.folder, 'state/engines'))).toEqual([]);
  expect(scene.problems).toEqual([]);
});

test('a command of several processes goes to disk and comes back as all of them', async ({ expect, scene }) => {
  await scene.checkpoints.hindrance();
  // A shell that waits for two children, one of which is the server.
  const on = await started(scene, (argv) => [
    '/bin/sh',
    '-c',
    `sleep 600 & ${argv.map((word) => `'${word}'`).join(' ')} & wait`,
  ]);
  const everyone = (await on.child.everyone()).toSorted();
  expect(everyone).toHaveLength(3);
  const before = await say(on);
  const checkpoint = await save(scene, on);
  expect(await on.child.members()).toEqual([]);
  await restored(checkpoint, on);
  await checkpoint.drop();
  expect((await on.child.everyone()).filter((pid) => everyone.includes(pid)).toSorted()).toEqual(everyone);
  expect(await say(on)).toEqual({ text: before.text, read: 1, cached: before.read - 1 });
  await end(on);
});

test('its image is for nobody else to read, and its record names the process that came back', async ({
  expect,
  scene,
}) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save(scene, on);
  const [name = ''] = readdirSync(scene.images.folder);
  expect(name).toMatch(/^alpha-0\./);
  for (const path of [scene.images.folder, join(scene.images.folder, name)])
    expect(statSync(path).mode & 0o777).toBe(0o700);
  const manifest = JSON.parse(readFileSync(join(scene.images.folder, name, 'catnap.json'), 'utf8'));
  expect(manifest).toMatchObject({ engine: 'alpha#0', model: 'alpha', pid: on.child.pid, port: on.port });

  await restored(checkpoint, on);
  const records = join(scene.folder, 'state/engines');
  const [record = ''] = readdirSync(records);
  const { leader } = JSON.parse(readFileSync(join(records, record), 'utf8'));
  const back = scene.processes.host.table?.look(on.child.pid);
  expect(leader).toEqual({ pid: on.child.pid, started: back?.started });
  await checkpoint.drop();
  await end(on);
});

test('its end after a return is noticed, and is not taken for a clean one', async ({ expect, scene }) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save(scene, on);
  await restored(checkpoint, on);
  process.kill(on.child.pid, 'SIGSEGV');
  expect(await on.child.exited).toEqual({ code: null, signal: null });
  expect(await on.child.members()).toEqual([]);
  await checkpoint.drop();
  await on.child.forget();
});

test('a log that is due to be cut is cut only when the engine is back', async ({ scene }) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const logs = join(scene.folder, 'state/logs');
  const log = join(logs, readdirSync(logs).find((name) => name.endsWith('.log')) ?? '');
  appendFileSync(log, `${'x'.repeat(99)}\n`.repeat(200));
  const checkpoint = await save(scene, on);
  await restored(checkpoint, on);
  await waitFor('the log to be cut', () => statSync(log).size < 20_000);
  const cut = statSync(log).size;
  await say(on);
  await waitFor('what it prints to be in the log', () => statSync(log).size > cut);
  await checkpoint.drop();
  await end(on);
});

test('where its port was taken it is not brought back', async ({ expect, scene }) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save(scene, on);
  const listener = createServer().listen(on.port, '127.0.0.1');
  await once(listener, 'listening');
  await expect(checkpoint.restore(never)).rejects.toThrow(
    `port ${on.port}, which it listens on, is in use by another program`,
  );
  listener.close();
  await once(listener, 'close');
  await restored(checkpoint, on);
  await checkpoint.drop();
  await end(on);
});

test('where a process number of its was taken it is not brought back, and who has it is told', async ({
  expect,
  scene,
}) => {
  // As if a thread of it had had the number that we have.
  const script = `${IMAGES}; '${scene.criu}' "$@" && echo > "$images/core-${process.pid}.img"; exit`;
  const checkpoints = meddling(scene, 'dump', script);
  await checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save({ checkpoints }, on);
  await expect(checkpoint.restore(never)).rejects.toThrow(
    `process number ${process.pid}, which it must have again, is in use: ${process.execPath}`,
  );
  await checkpoint.drop();
  await end(on);
});

test('an image that somebody changed is never restored', async ({ expect, scene }) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save(scene, on);
  const [name = ''] = readdirSync(scene.images.folder);
  truncateSync(join(scene.images.folder, name, 'pages-1.img'), 4_096);
  await expect(checkpoint.restore(never)).rejects.toThrow(`${name} was changed or removed by somebody`);
  await checkpoint.drop();
  await end(on);
});

test('an engine whose image does not fit is told to, before anything is done, and serves on', async ({
  expect,
  scene,
}) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const small = storeIn(scene.images.folder, scene.processes, 1_048_576);
  const checkpoints = checkpointsOf(scene.criu, small, scene.processes);
  expect(await checkpoints.hindrance()).toBeUndefined();
  await expect(save({ checkpoints }, on)).rejects.toThrow(
    /^its image takes about \d+ MiB, and of checkpoint\.images_max_mib \(1 MiB\) 0 MiB are taken$/,
  );
  expect(readdirSync(scene.images.folder)).toEqual([]);
  expect((await say(on)).read).toBeGreaterThan(1);
  await end(on);
});

test('a dump that meets a full disk fails with that, leaves nothing on it, and the engine serves on', async ({
  expect,
  scene,
}) => {
  const checkpoints = meddling(scene, 'dump', `trap '' XFSZ; ulimit -f 1000; exec '${scene.criu}' "$@"`);
  expect(await checkpoints.hindrance()).toBeUndefined();
  const on = await started(scene);
  await expect(save({ checkpoints }, on)).rejects.toThrow(
    /^it could not be written to disk: there is no room for the image: .*File too large/,
  );
  expect(readdirSync(scene.images.folder)).toEqual([]);
  expect((await say(on)).read).toBeGreaterThan(1);
  await end(on);
});

test('a dump that is called off ends criu, and what is left can be ended', async ({ expect, scene }) => {
  const checkpoints = meddling(scene, 'dump', `echo > '${scene.folder}/began'; exec sleep 600`);
  await checkpoints.hindrance();
  const on = await started(scene);
  const over = new AbortController();
  const saving = save({ checkpoints }, on, over.signal);
  await waitFor('criu to begin', () => existsSync(join(scene.folder, 'began')));
  over.abort(new Error('superseded'));
  await expect(saving).rejects.toThrow(/superseded|criu was ended by SIGKILL/);
  await end(on);
});

test('when criu is killed in the middle of a dump nothing of the engine outlives its stop', async ({
  expect,
  scene,
}) => {
  const checkpoints = meddling(scene, 'dump', killedAt(scene, 'pages-1.img'));
  await checkpoints.hindrance();
  const on = await started(scene);
  await expect(save({ checkpoints }, on)).rejects.toThrow('it could not be written to disk: criu failed with code 137');
  await end(on);
  expect(readdirSync(scene.images.folder)).toEqual([]);
});

test('when criu is killed in the middle of a return nothing of the engine outlives its stop', async ({
  expect,
  scene,
}) => {
  const checkpoints = meddling(scene, 'restore', killedAt(scene, 'root.pid'));
  await checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save({ checkpoints }, on);
  await expect(restored(checkpoint, on)).rejects.toThrow(
    'it could not be brought back from disk: criu ended with code 137',
  );
  await end(on);
  await checkpoint.drop();
  expect(readdirSync(scene.images.folder)).toEqual([]);
});
