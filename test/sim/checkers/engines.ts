import { isDeeper } from '../../../src/core/depth.ts';
import type { Engine, EngineEvent, EnginePhase } from '../../../src/core/engine.ts';
import type { EngineId, ModelId, NapLevel } from '../../../src/core/kinds.ts';
import type { PartKind } from '../../../src/core/cast.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { isKept, isWaitedFor, memberOf, type Checker, type Scene } from './checker.ts';

/** An engine believes only what concerns it now, keeps its pauses, and those who wait for it hear of its failures. */
export class EnginesChecker implements Checker {
  readonly #scene: Scene;
  /** Until when each engine may not be started again. */
  readonly #pauses = new Map<EngineId, number>();
  readonly #parts = new Map<ModelId, PartKind>();
  /** Who has failed anew: that an earlier failure is still being cleared away is no news. */
  readonly #failed = new Set<EngineId>();
  /** Whose start was given up in this turn. */
  readonly #givenUp = new Set<ModelId>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  stepped(id: EngineId, before: Engine, { phase, goal }: Engine, event: EngineEvent): void {
    const now = this.#scene.now();
    const moved = phase !== before.phase;
    must(!moved || !isLate(event, before), `${id} believed a late ${event.kind}`);
    if (event.kind === 'time-passed' && moved)
      must(now >= dueAt(before), `${id} was ${before.phase.kind} until ${dueAt(before)} and was given up at ${now}`);
    if (phase.kind === 'reaping' && moved) this.#pauses.set(id, phase.failed.retryAt);
    if (phase.kind === 'reaping' && moved && before.phase.kind !== 'stuck') this.#failed.add(id);
    const starts = phase.kind === 'starting' && moved;
    const asked = event.kind === 'goal-set' && event.atOnce;
    must(!starts || asked || now >= (this.#pauses.get(id) ?? 0), `${id} is started in the pause after its failure`);
    if (starts || phase.kind === 'off') this.#pauses.delete(id);
    if (moved && before.phase.kind === 'falling-asleep') this.#goesDeeper(id, before.phase.level, phase, event);
    if (moved) this.#goesOnFromSleep(id, before, { phase, goal }, event);
    const ends = goal.kind !== 'off' || phase.kind === 'off' || phase.kind === 'failed' || isEnding(phase.kind);
    must(ends, `${id} shall be off and goes on ${phase.kind}`);
  }

  /** One that sleeps goes deeper only where it is told to, and then as deep at least, or to its end where there is nothing left to wake it from. */
  #goesOnFromSleep(
    id: EngineId,
    before: Engine,
    { phase, goal }: Pick<Engine, 'phase' | 'goal'>,
    event: EngineEvent,
  ): void {
    const was = before.phase;
    const slept = was.kind === 'asleep' || (was.kind === 'falling-asleep' && event.kind === 'command-done');
    if (!slept || (phase.kind !== 'falling-asleep' && phase.kind !== 'stopping')) return;
    const told = goal.kind === 'off' || (goal.kind === 'asleep' && isDeeper(goal.level, was.level));
    const nothingLeft = event.kind === 'sleep-lost' && phase.kind === 'stopping';
    must(told || nothingLeft, `${id} sleeps at level ${was.level}, and goes deeper unasked`);
    const enough = phase.kind === 'stopping' || (goal.kind === 'asleep' && !isDeeper(goal.level, phase.level));
    must(enough, `${id} goes less deep than it is told`);
  }

  /** What would not sleep goes deeper, or is ended; it is never let be, nor asked for less. */
  #goesDeeper(id: EngineId, from: NapLevel, phase: EnginePhase, event: EngineEvent): void {
    if (event.kind !== 'command-failed' && event.kind !== 'time-passed') return;
    const next = this.#next(id, from);
    if (phase.kind === 'stopping') {
      must(next === undefined, `${id} is ended although level ${next} is open to it`);
      return;
    }
    const deeper = phase.kind === 'falling-asleep' && phase.level === next;
    must(deeper, `${id} failed to sleep at level ${from} and goes on ${phase.kind}`);
  }

  #next(id: EngineId, from: NapLevel): NapLevel | undefined {
    const { naps } = this.#scene.rulesOf(id);
    const at = naps.indexOf(from);
    return at < 0 ? undefined : naps[at + 1];
  }

  effect(effect: StageEffect): void {
    if (effect.kind === 'dismissed') for (const engine of effect.engines) this.#pauses.delete(engine);
  }

  handled(event: StageEvent, effects: readonly StageEffect[]): void {
    if (event.kind === 'engine-moved' && event.phase.kind === 'reaping' && this.#failed.delete(event.engine)) {
      const member = memberOf(this.#scene, event.model);
      const { giveUp } = event.phase.failed.failure;
      const was = this.#parts.get(event.model);
      const again = member.part.kind === 'summoned' && (member.roomAsked || member.overlap === 'failed');
      if (giveUp && !again && (was === 'entering' || (was === 'on' && !member.anyAwake)))
        this.#givenUp.add(event.model);
      if (was === 'on' && !giveUp && !member.anyAwake) {
        const wanted = isWaitedFor(this.#scene, event.model, effects) && !isKept(this.#scene, event.model);
        const comesBack = member.part.kind === 'entering';
        must(comesBack || !wanted || this.#closing, `${event.model} died in its turn and left those who wait for it`);
      }
    }
    for (const [model, { part }] of this.#scene.theatre.stage.members) this.#parts.set(model, part.kind);
  }

  settled(): void {
    for (const model of this.#givenUp) {
      const first = this.#scene.book.first(model);
      must(first === undefined, `${model} was given up, and ${first?.id} was not told`);
    }
    this.#givenUp.clear();
  }

  rested(): void {
    for (const id of this.#scene.theatre.engines) {
      const { kind } = this.#scene.theatre.engine(id).phase;
      must((kind !== 'awake' && kind !== 'asleep') || this.#scene.lives(id), `${id} counts as ${kind} and is dead`);
    }
  }

  get #closing(): boolean {
    const { closingAt, now } = this.#scene;
    return closingAt !== undefined && closingAt <= now();
  }
}

function isLate(event: EngineEvent, before: Engine): boolean {
  switch (event.kind) {
    case 'command-done':
    case 'command-failed':
      return event.epoch !== before.epoch;
    case 'process-exited':
    case 'sleep-lost':
    case 'unresponsive':
      return event.born !== before.born;
    case 'goal-set':
    case 'time-passed':
      return false;
    default:
      return event satisfies never;
  }
}

function dueAt({ phase }: Engine): number {
  if (phase.kind === 'stuck' || phase.kind === 'failed') return phase.retryAt;
  return 'deadline' in phase ? phase.deadline : Number.POSITIVE_INFINITY;
}

const isEnding = (kind: Engine['phase']['kind']): boolean =>
  kind === 'stopping' || kind === 'reaping' || kind === 'stuck';
