import { execa } from 'execa';
import type { Child, Exit, SpawnSpec } from '../ports/process.ts';
import type { EngineLog } from './engine-log.ts';
import type { Kin } from './kin.ts';
import type { Entry } from './registry.ts';
import { whyNotStarted } from './start-error.ts';

export type Started = { readonly pid: number; readonly exited: Promise<Exit> };

/**
 * Starts an engine in a session and process group of its own, so that it can be signalled and checkpointed as a whole and
 * a Ctrl+C for us is none for it. It shares no pipe with us. Rejects with one line that says why it could not be started.
 */
export async function startProcess(
  { argv: [program, ...args], cwd }: Pick<SpawnSpec, 'argv' | 'cwd'>,
  env: Readonly<Record<string, string>>,
  output: number,
): Promise<Started> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- execa's types know descriptors up to 9 only; it takes any
  const file = output as 9;
  const subprocess = execa(program, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env,
    extendEnv: false,
    detached: true,
    cleanup: false,
    reject: false,
    buffer: false,
    stdin: 'ignore',
    stdout: file,
    stderr: file,
  });
  const { pid, nodeChildProcess } = subprocess;
  if (pid === undefined) {
    const result = await subprocess;
    throw new Error(whyNotStarted(program, cwd, result.cause ?? result), { cause: result.cause });
  }
  const exited = new Promise<Exit>((resolve) => {
    nodeChildProcess.once('exit', (code, signal) => resolve({ code, signal }));
  });
  return { pid, exited };
}

type Parts = {
  readonly of: Pick<SpawnSpec, 'engine' | 'model' | 'port'>;
  readonly kin: Kin;
  /** In the environment of all its processes. */
  readonly mark: string;
  readonly log: EngineLog;
  /** Undefined when it could not be written. */
  readonly entry: Entry | undefined;
  readonly onForgotten: () => void;
};

/** One start of an engine, from its spawn to the proof that nothing of it is left, or from one return from disk to that. */
export class EngineProcess implements Child {
  readonly exited: Promise<Exit>;
  readonly parts: Parts;
  #pid: number;
  #kin: Kin;
  #hasExited = false;

  constructor({ pid, exited }: Started, parts: Parts) {
    this.exited = exited;
    this.parts = parts;
    this.#pid = pid;
    this.#kin = parts.kin;
    void exited.then(() => {
      this.#hasExited = true;
    });
  }

  get pid(): number {
    return this.#pid;
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  get printed(): number {
    return this.parts.log.printed;
  }

  /** What a helper has brought back takes the helper's place. */
  isNow(pid: number, kin: Kin): void {
    this.#pid = pid;
    this.#kin = kin;
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    this.#kin.signal(name);
  }

  killNow(): void {
    this.#kin.killNow();
  }

  members(): Promise<readonly number[]> {
    return this.#kin.living();
  }

  everyone(): Promise<readonly number[]> {
    return this.#kin.all();
  }

  tail(lines: number): readonly string[] {
    return this.parts.log.tail(lines);
  }

  async forget(): Promise<void> {
    this.parts.onForgotten();
    await this.parts.log.close();
    await this.parts.entry?.remove();
  }
}
