import { DriverError } from '../engines/driver.ts';
import type { Machine } from '../ports/machine.ts';
import { reasonOf } from '../engines/wait.ts';
import type { Child, Processes } from '../ports/process.ts';
import type { Programs } from '../ports/programs.ts';

export type CudaAction = 'lock' | 'checkpoint' | 'restore' | 'unlock';

/** Whose processes it works on, and until when. A withdrawn order ends it at once. */
export type CudaOrder = { readonly child: Child; readonly signal: AbortSignal };

export type CudaMeans = {
  readonly program: string;
  readonly programs: Programs;
  readonly processes: Pick<Processes, 'ask'>;
  readonly machine: Machine;
  /** How long one step may take, on the way to sleep and on the way back. */
  readonly limits: { readonly sleepMs: number; readonly wakeMs: number };
};

/** Starting CUDA alone can take seconds. */
const STATE_MS = 30_000;
const HELP_MS = 10_000;
/** How long the work that a process has given its GPU may take to end. */
const LOCK_MS = 10_000;

/** The program that freezes the GPU state of a process. It repairs nothing: what fails half way is not to be used again. */
export class CudaCheckpoint {
  readonly #means: CudaMeans;
  /** Whether this version of it can do one step at a time, by the file that was asked. */
  #steps: { readonly mark: string; readonly known: boolean; readonly limits: boolean } | undefined;

  constructor(means: CudaMeans) {
    this.#means = means;
  }

  /** Why it cannot be used here. */
  async hindrance(): Promise<string | undefined> {
    const { program, programs, machine, processes } = this.#means;
    if ((await programs.find(program)) === undefined)
      return `${program} was not found (checkpoint.cuda_checkpoint_path)`;
    if (machine.isRoot) return undefined;
    const { code } = await processes.ask(['sudo', '-n', program, '--help'], HELP_MS);
    return code === 0
      ? undefined
      : `${program} needs root: run catnap as root, or allow it in sudoers without a password`;
  }

  /** Whether locking and freezing are steps of their own; if not, several processes cannot be frozen together. Rejects where it does not say. */
  async hasSteps(): Promise<boolean> {
    const { program, programs, processes } = this.#means;
    const mark = (await programs.find(program))?.mark ?? '';
    if (this.#steps?.mark !== mark) {
      const answer = await processes.ask([program, '--help'], HELP_MS);
      const { code, output } = answer;
      if (code === null) throw new DriverError(`${program} --help did not answer: ${answer.why}`);
      this.#steps = { mark, known: output.includes('--action'), limits: output.includes('--timeout') };
    }
    return this.#steps.known;
  }

  /** `running`, `locked`, `checkpointed` or `failed`; undefined for a process that has no CUDA. */
  async stateOf(pid: number, on: CudaOrder): Promise<string | undefined> {
    const limitMs = Math.min(this.#longest, STATE_MS);
    const answer = await this.#ask(['--get-state', '--pid', String(pid)], limitMs, on);
    const { code, output } = answer;
    if (code === null) throw new DriverError(`the CUDA state of process ${pid} could not be read: ${answer.why}`);
    return code === 0 ? output.trim().split('\n').at(-1) : undefined;
  }

  async act(action: CudaAction, pid: number, on: CudaOrder): Promise<void> {
    const { sleepMs, wakeMs } = this.#means.limits;
    // Drivers that know the step need not know a limit for it; ours on the whole program holds all the same.
    const knowsLimit = action === 'lock' && (await this.hasSteps()) && this.#steps?.limits === true;
    const limit = knowsLimit ? ['--timeout', String(LOCK_MS)] : [];
    // Steps that move no memory take a start of CUDA, and what they wait for.
    const ofLock = Math.min(sleepMs, LOCK_MS + STATE_MS);
    const limitMs = { lock: ofLock, checkpoint: sleepMs, restore: wakeMs, unlock: wakeMs }[action];
    await this.#do(action, ['--action', action, '--pid', String(pid), ...limit], limitMs, pid, on);
  }

  async toggle(pid: number, on: CudaOrder): Promise<void> {
    await this.#do('toggle', ['--toggle', '--pid', String(pid)], this.#longest, pid, on);
  }

  /** Of a step of which it is not said on which way it lies. */
  get #longest(): number {
    const { sleepMs, wakeMs } = this.#means.limits;
    return Math.max(sleepMs, wakeMs);
  }

  async #do(what: string, args: readonly string[], limitMs: number, pid: number, on: CudaOrder): Promise<void> {
    const answer = await this.#ask(args, limitMs, on);
    const { code, output } = answer;
    if (code === 0) return;
    const said = output.trim().split('\n').at(-1) ?? '';
    const why = code === null ? answer.why : said === '' ? `code ${code}` : said;
    throw new DriverError(`cuda-checkpoint could not ${what} process ${pid}: ${why}`);
  }

  async #ask(args: readonly string[], limitMs: number, { child, signal }: CudaOrder) {
    const { program, processes, machine } = this.#means;
    const argv = machine.isRoot ? ([program, ...args] as const) : (['sudo', '-n', program, ...args] as const);
    const answer = await processes.ask(argv, limitMs, { signal, of: child });
    if (signal.aborted) throw reasonOf(signal);
    return answer;
  }
}
