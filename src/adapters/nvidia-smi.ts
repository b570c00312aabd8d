import type { Clock } from '../ports/clock.ts';
import type { Gpu, GpuDevice, GpuProcess, GpuSight } from '../ports/gpu.ts';
import type { Processes } from '../ports/process.ts';
import type { Programs } from '../ports/programs.ts';
import { millis, type Millis } from '../core/kinds.ts';

/** A driver that does not answer in this time has lost its GPU. */
const LIMIT_MS = 10_000;

const DEVICES = ['uuid', 'index', 'name', 'memory.total', 'memory.used', 'memory.free'];
const PROCESSES = ['pid', 'gpu_uuid', 'used_gpu_memory'];

type Means = {
  readonly clock: Clock;
  readonly programs: Programs;
  readonly processes: Pick<Processes, 'ask'>;
};

/** Reads GPU memory with nvidia-smi. What it prints is read by the order in which it was asked for. */
export class NvidiaSmi implements Gpu {
  readonly #program: string;
  readonly #means: Means;
  #last: { readonly since: Millis; readonly sight: Promise<GpuSight> } | undefined;
  #running = false;

  constructor(program: string, means: Means) {
    this.#program = program;
    this.#means = means;
  }

  /** One at a time: whoever comes while one runs that began too early waits for the next. */
  async read(maxAgeMs: number): Promise<GpuSight> {
    const asked = this.#means.clock.now();
    const freshFrom = millis(asked - maxAgeMs);
    for (;;) {
      const last = this.#last;
      if (last !== undefined && last.since >= freshFrom) return last.sight;
      if (!this.#running || last === undefined) break;
      await last.sight;
    }
    this.#running = true;
    const since = this.#means.clock.now();
    const sight = this.#look(since).finally(() => {
      this.#running = false;
    });
    this.#last = { since, sight };
    return sight;
  }

  async #look(takenAt: Millis): Promise<GpuSight> {
    if ((await this.#means.programs.find(this.#program)) === undefined)
      return { kind: 'absent', reason: `${this.#program} was not found (gpu.nvidia_smi_path)` };
    const [devices, processes] = await Promise.all([
      this.#ask(`--query-gpu=${DEVICES.join(',')}`, DEVICES.length),
      this.#ask(`--query-compute-apps=${PROCESSES.join(',')}`, PROCESSES.length),
    ]);
    if (typeof devices === 'string') return { kind: 'failed', reason: devices };
    if (typeof processes === 'string') return { kind: 'failed', reason: processes };
    const reading = { takenAt, devices: devices.flatMap(deviceOf), processes: processes.flatMap(processOf) };
    return { kind: 'read', reading };
  }

  /** The rows, or what went wrong. */
  async #ask(query: string, columns: number): Promise<readonly (readonly string[])[] | string> {
    const argv = [this.#program, query, '--format=csv,noheader,nounits'] as const;
    const { code, output } = await this.#means.processes.ask([...argv], LIMIT_MS);
    if (code === null) return `${this.#program} did not answer within ${LIMIT_MS / 1_000} s`;
    const lines = output.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
    if (code !== 0) return `${this.#program} ended with code ${code}: ${lines[0] ?? 'it said nothing'}`;
    return lines.map((line) => line.split(', ')).filter(({ length }) => length === columns);
  }
}

function deviceOf([uuid = '', index, name = '', total, used, free]: readonly string[]): GpuDevice[] {
  const [totalMib, usedMib, freeMib] = [mib(total), mib(used), mib(free)];
  if (totalMib === undefined || usedMib === undefined) return [];
  return [{ uuid, index: Number(index), name, totalMib, usedMib, freeMib: freeMib ?? totalMib - usedMib }];
}

function processOf([pid, uuid = '', used]: readonly string[]): GpuProcess[] {
  return [{ pid: Number(pid), uuid, usedMib: mib(used) }];
}

/** Undefined for `[N/A]` and `[Not Supported]`. */
const mib = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
