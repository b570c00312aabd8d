import type { Leavers } from '../core/entrance.ts';
import { after, type EngineId, type Millis } from '../core/kinds.ts';
import type { MemoryReading } from '../core/overlap.ts';
import type { Clock } from '../ports/clock.ts';
import { Alarm } from './alarm.ts';

/** Measures the memory that the engines of one stage share, and what these of them hold. It is bounded in time. */
export type Gauge = (engines: readonly Gauged[]) => Promise<MemoryReading | undefined>;

/** An engine that serves or leaves. `mayTake`: it is not sure that it only gives, so nothing is to be told of it. */
export type Gauged = {
  readonly engine: EngineId;
  readonly mayTake: boolean;
  readonly members: () => Promise<readonly number[]>;
};

type Means = {
  readonly clock: Clock;
  readonly gauge: (engines: readonly EngineId[]) => Promise<MemoryReading | undefined>;
  readonly read: (reading: MemoryReading) => void;
};

const LEAST_PAUSE_MS = 50;
const MOST_PAUSE_MS = 1_000;
/** Of the time that it has taken so far: who leaves for long is looked at less and less often. */
const PAUSE_SHARE = 0.1;

/** Looks at memory while somebody waits for that of others who leave, and once while they still serve, so that it is known what they had. */
export class RoomWatch {
  readonly #means: Means;
  readonly #alarm: Alarm;
  readonly #seen = new Set<EngineId>();
  #leavers: Leavers | undefined;
  #since: Millis | undefined;
  #looking = false;

  constructor(means: Means) {
    this.#means = means;
    this.#alarm = new Alarm(means.clock, () => this.#look());
  }

  /** Whenever something has moved. */
  follow(leavers: Leavers | undefined): void {
    this.#leavers = leavers;
    if (leavers === undefined) this.#seen.clear();
    if (!this.#isDue) {
      this.#alarm.set(undefined);
      this.#since = undefined;
    } else if (this.#since === undefined) {
      this.#since = this.#means.clock.now();
      this.#look();
    }
  }

  get #isDue(): boolean {
    const { draining = [], leaving = [] } = this.#leavers ?? {};
    return leaving.length > 0 || draining.some((engine) => !this.#seen.has(engine));
  }

  #look(): void {
    if (this.#looking || this.#leavers === undefined) return;
    const engines = [...this.#leavers.draining, ...this.#leavers.leaving];
    for (const engine of engines) this.#seen.add(engine);
    this.#looking = true;
    void this.#read(engines);
  }

  /** What cannot be measured lets nobody in, who waits then as he would without this. */
  async #read(engines: readonly EngineId[]): Promise<void> {
    const reading = await this.#means.gauge(engines).catch(() => undefined);
    this.#looking = false;
    if (this.#leavers !== undefined && reading !== undefined) this.#means.read(reading);
    this.#goOn();
  }

  #goOn(): void {
    if (!this.#isDue) {
      this.#since = undefined;
      return;
    }
    const now = this.#means.clock.now();
    const sofar = PAUSE_SHARE * (now - (this.#since ?? now));
    this.#alarm.set(after(now, Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, sofar))));
  }
}
