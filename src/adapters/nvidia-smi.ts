import type { Clock } from '../ports/clock.ts';
import type { Gpu, GpuDevice, GpuProcess, GpuSight, HolderSight } from '../ports/gpu.ts';
import type { Processes } from '../ports/process.ts';
import type { Programs } from '../ports/programs.ts';
import { Newest } from './newest.ts';

const DEVICES = ['uuid', 'index', 'name', 'memory.total', 'memory.used', 'memory.free'];
const PROCESSES = ['pid', 'gpu_uuid', 'used_gpu_memory'];

/** As the config has them. */
type Settings = { readonly nvidia_smi_path: string; readonly read_timeout_secs: number };

type Means = {
  readonly clock: Clock;
  readonly programs: Programs;
  readonly processes: Pick<Processes, 'ask'>;
};

type Rows = readonly (readonly string[])[];

/** Reads GPU memory with nvidia-smi. What it prints is read by the order in which it was asked for. */
export class NvidiaSmi implements Gpu {
  readonly #program: string;
  /** A driver that does not answer in this time has lost its GPU. */
  readonly #limitMs: number;
  readonly #means: Means;
  readonly #devices: Newest<Rows | string>;
  readonly #processes: Newest<Rows | string>;

  constructor({ nvidia_smi_path: program, read_timeout_secs: secs }: Settings, means: Means) {
    this.#program = program;
    this.#limitMs = secs * 1_000;
    this.#means = means;
    this.#devices = new Newest(means.clock, () => this.#ask(`--query-gpu=${DEVICES.join(',')}`, DEVICES.length));
    this.#processes = new Newest(means.clock, () =>
      this.#ask(`--query-compute-apps=${PROCESSES.join(',')}`, PROCESSES.length),
    );
  }

  /** One program answers one question only, so both are asked at once. */
  async read(maxAgeMs: number): Promise<GpuSight> {
    const absent = await this.#absent();
    if (absent !== undefined) return absent;
    const [devices, processes] = await Promise.all([this.#devices.seen(maxAgeMs), this.#processes.seen(maxAgeMs)]);
    if (typeof devices.what === 'string') return { kind: 'failed', reason: devices.what };
    if (typeof processes.what === 'string') return { kind: 'failed', reason: processes.what };
    const takenAt = devices.since < processes.since ? devices.since : processes.since;
    const cameAt = devices.cameAt > processes.cameAt ? devices.cameAt : processes.cameAt;
    const rows = { devices: devices.what.flatMap(deviceOf), processes: processes.what.flatMap(processOf) };
    return { kind: 'read', reading: { takenAt, cameAt, ...rows } };
  }

  async holders(maxAgeMs: number): Promise<HolderSight> {
    const absent = await this.#absent();
    if (absent !== undefined) return absent;
    const { what } = await this.#processes.seen(maxAgeMs);
    if (typeof what === 'string') return { kind: 'failed', reason: what };
    return { kind: 'read', processes: what.flatMap(processOf) };
  }

  async #absent(): Promise<Extract<GpuSight, { kind: 'absent' }> | undefined> {
    if ((await this.#means.programs.find(this.#program)) !== undefined) return undefined;
    return { kind: 'absent', reason: `${this.#program} was not found (gpu.nvidia_smi_path)` };
  }

  /** The rows, or what went wrong. */
  async #ask(query: string, columns: number): Promise<Rows | string> {
    const argv = [this.#program, query, '--format=csv,noheader,nounits'] as const;
    const answer = await this.#means.processes.ask([...argv], this.#limitMs);
    const { code, output } = answer;
    if (code === null) return `${this.#program} did not answer: ${answer.why}`;
    const lines = output.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
    if (code !== 0) return `${this.#program} ended with code ${code}: ${lines[0] ?? 'it said nothing'}`;
    const rows = lines.map((line) => line.split(', ')).filter(({ length }) => length === columns);
    const strange = rows.length > 0 ? undefined : lines.find((line) => !line.startsWith('No '));
    return strange === undefined ? rows : `${this.#program} says what cannot be read: ${strange.slice(0, 100)}`;
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
