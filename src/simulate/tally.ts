import type { EnginePhase } from '../core/engine.ts';
import type { Fact } from '../core/facts.ts';
import type { Millis, ModelId } from '../core/kinds.ts';

/** What came of a workload under one policy. Times in milliseconds. */
export type Outcome = {
  readonly served: number;
  readonly rejected: number;
  readonly left: number;
  readonly waits: Waits;
  /** Per model, in the same order in which they were given. */
  readonly byModel: ReadonlyMap<ModelId, Waits>;
  readonly swaps: number;
  readonly spanMs: number;
  /** How much of the time an engine was on its way in or out, and how much of it was spent on waiting for one to have done with its work. */
  readonly swappingShare: number;
  readonly drainingShare: number;
  readonly longestDrainMs: number;
  /** How many events the stage handled. */
  readonly events: number;
  readonly timeline: readonly Stretch[];
};

export type Waits = {
  readonly count: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
};

/** For how long an engine of a model was in one phase. */
export type Stretch = {
  readonly model: ModelId;
  readonly phase: 'coming' | 'awake' | 'going';
  readonly fromMs: number;
  readonly toMs: number;
};

/** So many stretches are kept for drawing. */
const STRETCHES = 20_000;

export class Tally {
  readonly #waits = new Map<ModelId, number[]>();
  readonly #stretches: Stretch[] = [];
  readonly #since = new Map<ModelId, { readonly phase: Stretch['phase']; readonly at: Millis }>();
  /** How many engines are on their way, since when, and how long there were any so far. */
  #moving = 0;
  #movingSince = 0;
  #movingMs = 0;
  #drainMs = 0;
  #longestDrainMs = 0;
  #swaps = 0;
  #rejected = 0;
  #left = 0;
  #settled = 0;

  constructor(models: readonly ModelId[]) {
    for (const model of models) this.#waits.set(model, []);
  }

  granted(model: ModelId, waitedMs: number, _now: Millis): void {
    this.#waits.get(model)?.push(waitedMs);
  }

  settled(_model: ModelId, _now: Millis): void {
    this.#settled++;
  }

  rejected(): void {
    this.#rejected++;
  }

  left(): void {
    this.#left++;
  }

  told(fact: Fact, _now: Millis): void {
    if (fact.kind === 'swap-planned') this.#swaps++;
    if (fact.kind !== 'swap-finished') return;
    const { drain = 0 } = fact.record.legs;
    this.#drainMs += drain;
    this.#longestDrainMs = Math.max(this.#longestDrainMs, drain);
  }

  moved(model: ModelId, kind: EnginePhase['kind'], now: Millis): void {
    const before = this.#since.get(model);
    const phase = stretchOf(kind);
    if (before !== undefined && this.#stretches.length < STRETCHES)
      this.#stretches.push({ model, phase: before.phase, fromMs: before.at, toMs: now });
    if (phase === undefined) this.#since.delete(model);
    else this.#since.set(model, { phase, at: now });
    const wasMoving = before !== undefined && before.phase !== 'awake';
    const moves = phase !== undefined && phase !== 'awake';
    if (wasMoving === moves) return;
    if (this.#moving === 0) this.#movingSince = now;
    this.#moving += moves ? 1 : -1;
    if (this.#moving === 0) this.#movingMs += now - this.#movingSince;
  }

  outcome(now: Millis, events: number): Outcome {
    const spanMs = Math.max(now, 1);
    return {
      served: this.#settled,
      rejected: this.#rejected,
      left: this.#left,
      waits: waitsOf([...this.#waits.values()].flat()),
      byModel: new Map([...this.#waits].map(([model, waits]) => [model, waitsOf(waits)])),
      swaps: this.#swaps,
      spanMs,
      swappingShare: this.#movingMs / spanMs,
      drainingShare: this.#drainMs / spanMs,
      longestDrainMs: this.#longestDrainMs,
      events,
      timeline: this.#stretches,
    };
  }
}

function stretchOf(kind: EnginePhase['kind']): Stretch['phase'] | undefined {
  if (kind === 'starting' || kind === 'waking') return 'coming';
  if (kind === 'awake') return 'awake';
  return kind === 'stopping' || kind === 'falling-asleep' ? 'going' : undefined;
}

function waitsOf(list: readonly number[]): Waits {
  const sorted = Float64Array.from(list).sort();
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
  const sum = sorted.reduce((total, ms) => total + ms, 0);
  return {
    count: sorted.length,
    meanMs: sorted.length === 0 ? 0 : sum / sorted.length,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    p99Ms: at(0.99),
    maxMs: at(1),
  };
}
