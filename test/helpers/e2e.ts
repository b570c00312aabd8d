import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { Ports } from '../../src/adapters/ports.ts';
import type { ConfigInput, ModelInput } from '../../src/config/schema.ts';
import { Catnap, runCatnap, stateDir, type Ended, type Setting } from './catnap.ts';
import { requireLlama } from './llama.ts';
import { countModel, randomModel, sayModel } from './models.ts';
import { killSurvivors, noSurvivors, testFolder } from './survivors.ts';
import { waitFor } from './wait-for.ts';

const VALVE = join(import.meta.dirname, '../fixtures/valve.ts');

type LlamaInput = Extract<ModelInput, { backend: 'llama_server' }>;
type More = Partial<Omit<LlamaInput, 'backend' | 'model_path'>>;

/** Models on the real llama-server. */
export type Llama = {
  readonly server: string;
  /** A model that answers everything with this text. */
  says(text: string, more?: More): Promise<LlamaInput>;
  /** A model that answers everything with ` 1 2 3 …` up to this number. */
  counts(to: number, more?: More): Promise<LlamaInput>;
  /** A model with random weights, which can be asked for vectors. */
  embeds(more?: More): Promise<LlamaInput>;
  file(path: string, more?: More): LlamaInput;
  /** A command that is llama-server, but starts no model until it is let. */
  gated(): Gate;
  /** A command that is llama-server, but whose streams stop after their first words until they are let go on. */
  valved(): Gate;
};

export type Gate = { readonly command: string; open(): void };

/** How a test starts catnap. Each one is stopped at the end of the test, unless the test has seen to that. */
export type Launch = (config: ConfigInput, setting?: Omit<Setting, 'folder'>) => Catnap;
/** The same, and waits until it listens. */
export type Start = (config: ConfigInput, setting?: Omit<Setting, 'folder'>) => Promise<Catnap>;

/** Runs the command line to its end in the folder of the test. */
export type Run = (
  args: readonly string[],
  setting?: Omit<Setting, 'folder'>,
) => Promise<Ended & { readonly out: string; readonly err: string }>;

/**
 * A test of the built product. When it is over, whoever it started is told to stop and must end with 0, and then nothing may be
 * left: no process that stems from it, nobody in an engine's session, no port, no record of an engine.
 */
export const test = base
  .extend('folder', async ({ onTestFailed }, { onCleanup }) => {
    const folder = testFolder();
    onTestFailed(() => killSurvivors(folder.path));
    onCleanup(async () => {
      try {
        await noSurvivors(folder.path);
      } finally {
        killSurvivors(folder.path);
        folder.remove();
      }
    });
    return folder.path;
  })
  .extend('llama', async ({ skip, folder }): Promise<Llama> => {
    const server = await requireLlama({ skip });
    const file = (path: string, { extra_args = [], ...more }: More = {}): LlamaInput => ({
      backend: 'llama_server',
      model_path: path,
      llama_server_command: server,
      // A second thread makes models of this size slower.
      extra_args: ['--threads', '1', ...extra_args],
      ...more,
    });
    return {
      server,
      file,
      says: async (text, more) => file(await sayModel(text), more),
      counts: async (to, more) => file(await countModel(to), more),
      embeds: async ({ extra_args = [], ...more } = {}) =>
        file(await randomModel({ seed: 1 }), {
          extra_args: ['--embeddings', '--pooling', 'mean', ...extra_args],
          ...more,
        }),
      gated: () => gateBefore(server, join(folder, 'gated-llama-server')),
      valved: () => valveBehind(server, join(folder, 'valved-llama-server')),
    };
  })
  .extend('launch', async ({ folder, onTestFailed }, { onCleanup }): Promise<Launch> => {
    const launched: Catnap[] = [];
    onTestFailed(() => {
      for (const catnap of launched) console.error(`--- log of catnap ${catnap.pid}\n${catnap.log}`);
    });
    onCleanup(async () => {
      for (const catnap of launched) await endWell(catnap);
      for (const catnap of launched) await nothingLeft(catnap, folder);
    });
    return (config, setting = {}) => {
      const catnap = Catnap.launch(config, { folder, ...setting });
      launched.push(catnap);
      return catnap;
    };
  })
  .extend(
    'start',
    ({ launch }): Start =>
      (config, setting) =>
        launch(config, setting).listens(),
  )
  .extend(
    'run',
    ({ folder }): Run =>
      (args, setting = {}) =>
        runCatnap(args, { folder, ...setting }),
  );

/** Questions about its version and its flags are answered at once. */
function gateBefore(server: string, command: string): Gate {
  const waits = `while [ ! -e "$0.open" ]; do sleep 0.02; done`;
  const script = `#!/bin/sh\ncase "$*" in *--port*) ${waits} ;; esac\nexec '${server}' "$@"\n`;
  writeFileSync(command, script, { mode: 0o755 });
  return { command, open: () => writeFileSync(`${command}.open`, '') };
}

function valveBehind(server: string, command: string): Gate {
  const file = `${command}.held`;
  writeFileSync(file, '');
  const valved = `case "$*" in *--port*) exec '${process.execPath}' '${VALVE}' '${file}' '${server}' "$@" ;; esac`;
  writeFileSync(command, `#!/bin/sh\n${valved}\nexec '${server}' "$@"\n`, { mode: 0o755 });
  return { command, open: () => rmSync(file) };
}

/** Stops one that still runs. It has nothing to do any more, so it ends soon and well; what it leaves is the folder's to find. */
async function endWell(catnap: Catnap): Promise<void> {
  if (catnap.ended) return;
  catnap.signal('SIGTERM');
  await waitFor('catnap to end when it is told to', () => catnap.ended, { within: 60_000 }).catch((error: unknown) => {
    catnap.signal('SIGKILL');
    throw error;
  });
  const { code, signal } = await catnap.exited;
  if (code !== 0) throw new Error(`catnap ended with ${code ?? signal} when it was told to stop`);
}

async function nothingLeft(catnap: Catnap, folder: string): Promise<void> {
  const engines = catnap.facts('engine-started').filter(({ pid }) => pid !== catnap.pid);
  await noSurvivors(folder);
  for (const { pid } of engines) {
    const left = sessionOf(Number(pid));
    if (left.length > 0) throw new Error(`left in the session of engine ${String(pid)}: ${left.join(', ')}`);
  }
  // A stranger's connection may have the number for a moment; what was left behind has it for good.
  for (const port of [catnap.port, ...engines.map((line) => Number(line['port']))])
    await waitFor(`port ${port} to be free`, () => isFree(port));
  const records = readdirSync(join(stateDir(folder), 'engines'));
  if (records.length > 0) throw new Error(`still recorded as running: ${records.join(', ')}`);
}

/** Who lives in the session or the group that this process began. */
function sessionOf(leader: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const [state, , group, session] = statOf(pid);
      return state !== undefined && !'ZX'.includes(state) && [group, session].includes(String(leader));
    })
    .map(Number);
}

export const isAlive = (pid: number): boolean => {
  const [state] = statOf(pid);
  return state !== undefined && !'ZX'.includes(state);
};

/** What follows the name of the program: its state, its parent, its group, its session. */
function statOf(pid: number | string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return []; // it has ended
  }
}

async function isFree(port: number): Promise<boolean> {
  const listener = createServer();
  const free = await new Promise<boolean>((resolve) => {
    listener.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  await new Promise((resolve) => listener.close(resolve));
  return free;
}

/** A port that was free a moment ago. */
export const freePort = (): Promise<number> => PORTS.free();

const PORTS = new Ports();
