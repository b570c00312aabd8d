import type { Millis, ModelId, SleepLevel } from './kinds.ts';

/** The parts a swap is made of, in order. `clear` and `ready` are the proofs: the memory is back, the engine answers. */
export const LEGS = ['drain', 'sleep', 'clear', 'wake', 'ready'] as const;
export type Leg = (typeof LEGS)[number];

export type SwapResult = 'done' | 'failed' | 'withdrawn';

/** One change of who is awake, from the plan to the first grant. Feeds the log, the metrics, the dashboard and the estimates. */
export type SwapRecord = {
  readonly id: number;
  readonly to: ModelId;
  /** Who had to go; empty when there was room. */
  readonly from: readonly ModelId[];
  readonly startedAt: Millis;
  readonly totalMs: number;
  /** Milliseconds per leg; a leg that did not happen is absent. */
  readonly legs: Readonly<Partial<Record<Leg, number>>>;
  /** What is left of the total when the legs are taken away: our own share. */
  readonly overheadMs: number;
  /** The level the wanted model came back from; 5 is a fresh start. */
  readonly level: SleepLevel;
  readonly result: SwapResult;
};

/** What a command of an engine took: the act, and the proof that it worked. */
export type Took = {
  readonly actMs: number;
  readonly proofMs: number;
  /** After a sleep: how much host memory the processes of the engine hold, where that was measured. */
  readonly hostMib?: number | undefined;
  /** After a sleep: what it keeps elsewhere, as far as that was seen. */
  readonly left?: Left | undefined;
};

/** What a sleeper keeps on the GPUs and on disk. */
export type Left = { readonly gpuMib?: number | undefined; readonly diskMib?: number | undefined };

type Legs = Partial<Record<Leg, number>>;

/** A swap under way. Where several engines move side by side, its legs are those of the one that was last, so that they add up. */
export class Swap {
  readonly id: number;
  readonly to: ModelId;
  readonly from: readonly ModelId[];
  readonly startedAt: Millis;
  /** Whether nobody waited for it: the stage had nothing to do and goes home. */
  readonly unasked: boolean;
  #level: SleepLevel = 5;
  #enteredAt: Millis | undefined;
  #withdrawn = false;
  /** Whether an engine failed in it: what its commands took does not tell the whole time then. */
  #stumbled = false;
  /** When the last of those who had to go was seen to move. */
  #movedAt: Millis;
  #legs: Legs = {};
  /** For how long each of those who had to go went on serving. */
  readonly #drains = new Map<ModelId, number>();

  constructor(id: number, to: ModelId, from: readonly ModelId[], now: Millis, unasked = false) {
    this.id = id;
    this.to = to;
    this.from = from;
    this.startedAt = now;
    this.unasked = unasked;
    this.#movedAt = now;
  }

  drained(model: ModelId, now: Millis): void {
    if (this.#enteredAt !== undefined) return;
    this.#movedAt = now;
    const drain = now - this.startedAt;
    this.#drains.set(model, drain);
    this.#legs = { drain };
  }

  putAway(model: ModelId, took: Took, now: Millis): void {
    if (this.#enteredAt !== undefined) return;
    this.#movedAt = now;
    const before = { drain: this.#drains.get(model) ?? 0 };
    const { actMs, proofMs } = this.#within(before, took, now);
    this.#legs = { ...before, sleep: actMs, clear: proofMs };
  }

  /** The wanted model is on its way, back from `level`. Whoever goes from now on does not go for it; `beside`: somebody who does has not gone yet. */
  entering(level: SleepLevel, now: Millis, beside = false): void {
    // Since those who went for it have gone it waited for others: what they held had to be cleared first.
    const waited = now - this.#movedAt;
    // When it comes in once more, what went before counts as clearing, too.
    const { wake: _wake, ready: _ready, ...before } = this.#legs;
    const leg = beside ? 'sleep' : 'clear';
    this.#legs = waited > 0 ? { ...before, [leg]: (before[leg] ?? 0) + waited } : before;
    this.#movedAt = now;
    this.#enteredAt = now;
    this.#level = level;
  }

  /** An engine that takes part in it has failed, and what follows takes the place of its command. */
  stumble(): void {
    this.#stumbled = true;
  }

  woke(took: Took, now: Millis): void {
    const { wake: _wake, ready: _ready, ...before } = this.#legs;
    const { actMs, proofMs } = this.#within(before, took, now);
    this.#legs = { ...before, wake: actMs, ready: proofMs };
  }

  /** Whether it was given up before it began: nobody has to go for it any more. */
  get withdrawn(): boolean {
    return this.#withdrawn;
  }

  finish(result: SwapResult, now: Millis): SwapRecord {
    const { id, to, from, startedAt } = this;
    this.#withdrawn = result === 'withdrawn';
    const totalMs = now - startedAt;
    if (result !== 'done' && this.#enteredAt !== undefined && this.#legs.wake === undefined)
      this.#legs = { ...this.#legs, wake: now - this.#enteredAt };
    const overheadMs = Math.max(0, totalMs - sum(this.#legs));
    return { id, to, from, startedAt, totalMs, legs: this.#legs, overheadMs, level: this.#level, result };
  }

  /** A command may have begun before the swap did: only the part of it that falls into the swap counts. */
  #within(before: Legs, took: Took, now: Millis): Took {
    const left = now - this.startedAt - sum(before);
    const proofMs = Math.min(took.proofMs, left);
    return { proofMs, actMs: this.#stumbled ? left - proofMs : Math.min(took.actMs, left - proofMs) };
  }
}

const sum = (legs: Legs): number => Object.values(legs).reduce((total, ms) => total + ms, 0);
