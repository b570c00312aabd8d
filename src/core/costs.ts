import type { EnginePhase } from './engine.ts';
import type { SleepLevel } from './kinds.ts';
import type { Took } from './swap.ts';

/** What something took so far: a moving average and how far single times lie from it on average. */
export type Estimate = { readonly ms: number; readonly spreadMs: number; readonly samples: number };

/** The parts of a swap that are a model's own. A swap costs what one model takes to go and another to come, so no pair has to be learned. */
export type CostLeg = 'drain' | `go:${SleepLevel}` | `come:${SleepLevel}`;

/** How much host memory one engine held when it slept last, by level. */
export type HeldMib = Readonly<Record<string, number>>;

/** As it is written down. */
export type SavedCosts = Readonly<Partial<Record<CostLeg, Estimate>>> & { readonly holds?: HeldMib };

const NEVER_SEEN: Estimate = { ms: 0, spreadMs: 0, samples: 1 };

/** How much the newest time moves the average. */
const WEIGHT = 0.3;
/** What is expected of a model that was never seen to do it. */
const UNKNOWN_COME_MS = 5_000;
const UNKNOWN_GO_MS = 1_000;

/** The first time counts as it is. */
export function learned(before: Estimate | undefined, ms: number): Estimate {
  if (before === undefined) return { ms, spreadMs: 0, samples: 1 };
  const off = Math.abs(ms - before.ms);
  return {
    ms: before.ms + WEIGHT * (ms - before.ms),
    spreadMs: before.spreadMs + WEIGHT * (off - before.spreadMs),
    samples: before.samples + 1,
  };
}

/** A time that is seldom exceeded: what deadlines are reckoned with. */
export const carefully = ({ ms, spreadMs }: Estimate): number => ms + 2 * spreadMs;

/** A time that is seldom undercut: what is called impossible is reckoned with it. What was seen once or twice may have been chance, and what never was, may be nothing. */
export const atLeast = ({ ms, spreadMs, samples }: Estimate = NEVER_SEEN): number =>
  Math.max(0, ms - 2 * Math.max(spreadMs, ms / (4 * samples)));

/**
 * What one model takes to come, to go and to drain, per sleep level. Only commands that succeeded teach anything: a start that fails at once
 * would make the model look quick.
 */
export class Costs {
  readonly #legs = new Map<CostLeg, Estimate>();
  readonly #hostMib: Map<string, number>;

  constructor(saved: SavedCosts = {}) {
    this.#hostMib = new Map(Object.entries(saved.holds ?? {}));
    for (const leg of Object.keys(saved).filter(isLeg)) {
      const estimate = saved[leg];
      if (estimate !== undefined) this.#legs.set(leg, estimate);
    }
  }

  /** An engine of the model has done what it was told. `wasAwake`: whether it is one that served until it was told to go. */
  moved(before: EnginePhase, phase: EnginePhase, took: Took, wasAwake: boolean): void {
    const ms = took.actMs + took.proofMs;
    if (phase.kind === 'awake') this.#learn(`come:${before.kind === 'waking' ? before.level : 5}`, ms);
    else if (phase.kind === 'asleep') this.#learn(`go:${phase.level}`, ms);
    else if (phase.kind === 'off' && wasAwake) this.#learn('go:5', ms);
  }

  /** One of its engines sleeps at this level, and so much host memory was measured of it. */
  held(level: SleepLevel, mib: number): void {
    this.#hostMib.set(String(level), mib);
  }

  /** What one engine holds at this level as seen last, else as the config tells. */
  hostMib(level: SleepLevel, { hostMib = 0 }: { readonly hostMib?: number | undefined }): number {
    return this.#hostMib.get(String(level)) ?? hostMib;
  }

  drained(ms: number): void {
    this.#learn('drain', ms);
  }

  /** What coming back from a level is expected to take; undefined when it was never seen. */
  come(level: SleepLevel): Estimate | undefined {
    return this.#legs.get(`come:${level}`);
  }

  /** The same of going to a level. */
  go(level: SleepLevel): Estimate | undefined {
    return this.#legs.get(`go:${level}`);
  }

  comeMs(level: SleepLevel): number {
    const estimate = this.come(level);
    return estimate === undefined ? UNKNOWN_COME_MS : carefully(estimate);
  }

  goMs(level: SleepLevel): number {
    const estimate = this.go(level);
    return estimate === undefined ? UNKNOWN_GO_MS : carefully(estimate);
  }

  /** What it takes to go to a level and to come back from there, seldom exceeded. */
  thereAndBackMs(level: SleepLevel): number {
    return this.goMs(level) + this.comeMs(level);
  }

  /** How much longer that takes than for another level. */
  moreMs(level: SleepLevel, than: SleepLevel): number {
    return Math.max(0, this.thereAndBackMs(level) - this.thereAndBackMs(than));
  }

  /** How long those it works on keep it, as seen so far: on average, since what drains is different each time. */
  get drainMs(): number {
    return this.#legs.get('drain')?.ms ?? 0;
  }

  save(): SavedCosts {
    const legs: SavedCosts = Object.fromEntries(this.#legs);
    return this.#hostMib.size === 0 ? legs : { ...legs, holds: Object.fromEntries(this.#hostMib) };
  }

  #learn(leg: CostLeg, ms: number): void {
    this.#legs.set(leg, learned(this.#legs.get(leg), ms));
  }
}

const LEVELS: readonly string[] = ['1', '2', '3', '4', 'hybrid', '5'];

/** Whether a text names a leg. */
export function isLeg(text: string): text is CostLeg {
  const [kind, level, ...more] = text.split(':');
  if (text === 'drain') return true;
  return (kind === 'go' || kind === 'come') && level !== undefined && LEVELS.includes(level) && more.length === 0;
}
