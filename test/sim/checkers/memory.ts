import type { MemoryReading } from '../../../src/core/overlap.ts';
import type { EngineId, ModelId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { describe, memberOf, ROUNDING, type Checker, type Scene } from './checker.ts';

/** So old may be what somebody comes in by. */
const FRESH_MS = 1_000;

/**
 * What all engines really hold is never more than there is, nor than the budget where that counts memory; whoever comes in while others leave does so
 * by a fresh look, and not to size itself by memory that is still on its way.
 */
export class MemoryChecker implements Checker {
  readonly #scene: Scene;
  #reading: MemoryReading | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(event: StageEvent): void {
    if (event.kind === 'memory-read') this.#reading = event.reading;
    this.#holds();
  }

  stepped(): void {
    this.#holds();
  }

  effect(effect: StageEffect): void {
    if (effect.kind !== 'tell' || effect.fact.kind !== 'swap-overlaps') return;
    const { to, beside } = effect.fact;
    const { plan, now } = this.#scene;
    must(plan.memory !== undefined, `${to} comes in beside others, and nobody may`);
    must(beside.length > 0, `${to} comes in beside nobody`);
    for (const other of beside) {
      const { kind } = memberOf(this.#scene, other).part;
      must(kind === 'leaving', `${to} comes in beside ${other}, which is ${kind}`);
    }
    must(this.#reading !== undefined && now() - this.#reading.takenAt <= FRESH_MS, `${to} comes in by an old look`);
    if (plan.memory.kind === 'host' || !this.#starts(to)) return;
    const left = beside.reduce((sum, other) => sum + this.#heldBy(memberOf(this.#scene, other).terms.engines), 0);
    must(left === 0, () => `${to} starts while ${left} MiB are on their way: ${describe(this.#scene)}`);
  }

  settled(): void {
    this.#holds();
  }

  /** Whether an engine of it has just been started, and not woken. */
  #starts(model: ModelId): boolean {
    const { theatre } = this.#scene;
    return memberOf(this.#scene, model).engines.some((engine) => theatre.engine(engine).phase.kind === 'starting');
  }

  #holds(): void {
    const { plan, theatre } = this.#scene;
    if (plan.memory === undefined) return;
    const { totalMib, foreignMib, by } = plan.memory;
    const ours = this.#heldBy(theatre.engines);
    const most = Math.min(totalMib - foreignMib, by === 'mib' ? plan.capacity : Number.POSITIVE_INFINITY);
    must(ours <= most + ROUNDING, () => `engines hold ${ours} MiB of ${most}: ${describe(this.#scene)}`);
  }

  #heldBy(engines: readonly EngineId[]): number {
    return engines.reduce((sum, engine) => sum + this.#scene.heldBy(engine), 0);
  }
}
