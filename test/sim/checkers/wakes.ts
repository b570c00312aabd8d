import type { Engine, EngineEvent } from '../../../src/core/engine.ts';
import type { EngineId, ModelId } from '../../../src/core/kinds.ts';
import type { PartKind } from '../../../src/core/cast.ts';
import type { StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { isWaitedFor, memberOf, type Checker, type Scene } from './checker.ts';

/** A wake that fails is no failure to those who wait: the process is ended, and started afresh at once. When that fails too, they are told. */
export class WakesChecker implements Checker {
  readonly #scene: Scene;
  readonly #parts = new Map<ModelId, PartKind>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  stepped(id: EngineId, before: Engine, { phase, goal }: Engine, event: EngineEvent): void {
    const was = before.phase;
    if (was.kind === 'waking' && phase.kind === 'reaping') {
      const { failure } = phase.failed;
      const first = failure.attempts === 1 && this.#scene.rulesOf(id).restart.crashesBeforeGivingUp > 1;
      must(!first || !failure.giveUp, `${id} did not wake, and is given up without a fresh start`);
    }
    if (was.kind !== 'reaping' || event.kind !== 'command-done' || event.epoch !== before.epoch) return;
    const { during, attempts } = was.failed.failure;
    if (during !== 'waking' || attempts !== 1 || goal.kind !== 'awake') return;
    must(phase.kind === 'starting', `${id} did not wake, is ended, and is ${phase.kind} in place of a fresh start`);
  }

  handled(event: StageEvent): void {
    if (event.kind === 'engine-moved' && event.phase.kind === 'reaping') {
      const { during, giveUp } = event.phase.failed.failure;
      const member = memberOf(this.#scene, event.model);
      const stays = during === 'waking' && !giveUp && this.#parts.get(event.model) === 'entering';
      const isWanted = stays && isWaitedFor(this.#scene, event.model) && this.#scene.closingAt === undefined;
      // Beside others who leave there may be too little room for that: it waits until they have gone.
      const waits = member.part.kind === 'summoned' && member.overlap === 'failed';
      must(
        !isWanted || waits || member.part.kind === 'entering',
        `${event.model} did not wake, and is not started afresh`,
      );
    }
    for (const [model, { part }] of this.#scene.theatre.stage.members) this.#parts.set(model, part.kind);
  }
}
