import { writeFileSync } from 'node:fs';
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

export const model = modelId('alpha');
export const engine = engineId(model, 0);
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
export const test = base.extend('scene', async ({ skip }, { onCleanup }): Promise<Scene> => {
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

export function storeIn(folder: string, { host }: SystemProcesses, maxBytes = 0): ImageStore {
  const { table, state } = host;
  if (table === undefined) throw new Error('there is no process table');
  return new ImageStore({ folder, maxBytes, table, state });
}

export function checkpointsOf(command: string, images: ImageStore, processes: SystemProcesses): CriuCheckpoints {
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

export async function started(
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
export async function say({ origin }: Engine): Promise<{ text: string; read: number; cached: number }> {
  const answer = await fetch(`${origin}/completion`, {
    method: 'POST',
    body: JSON.stringify({ prompt: PROMPT, n_predict: 16, temperature: 0, id_slot: 0 }),
  });
  const { content, timings } = JSON.parse(await answer.text());
  return { text: content, read: timings.prompt_n, cached: timings.cache_n };
}

export const never = new AbortController().signal;
export const save = (
  { checkpoints }: Pick<Scene, 'checkpoints'>,
  { child, port }: Engine,
  signal = never,
): Promise<Checkpoint> => checkpoints.save(child, { engine, model, port }, signal);

export async function restored(checkpoint: Checkpoint, on: Engine): Promise<Returning> {
  const returning = await checkpoint.restore(never);
  on.child = returning.child;
  await returning.back;
  return returning;
}

/** Kills it, and proves that nothing is left. */
export async function end({ child }: Engine): Promise<void> {
  child.signal('SIGKILL');
  await waitFor('its end', async () => {
    const left = await child.members();
    if (left.length > 0) child.signal('SIGKILL');
    return left.length === 0;
  });
  await child.forget();
}

/** A criu that does something else first, or in between, when it is told to dump or to restore. */
export function meddling(
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
export const IMAGES = `for word; do case "$last" in --images-dir) images=$word ;; esac; last=$word; done`;

/** Kills criu with everything it has made its child as soon as there is such a file in the folder of the image. */
export const killedAt = ({ criu }: Scene, file: string): string => `
  ${IMAGES}
  '${criu}' "$@" & pid=$!
  while [ ! -s "$images/${file}" ] && [ -e /proc/$pid ]; do :; done
  kill -KILL $pid; wait $pid; exit 137`;
