import { onlyOperatorsBring } from './doors.ts';
import { failureOf, isInstead, retryAtOf, type EnginePhase } from './engine.ts';
import type { Millis } from './kinds.ts';
import type { Member } from './member.ts';
import { MoreRoom, type Scene } from './more-room.ts';
import type { Replies } from './replies.ts';
import type { StageEvent } from './stage-events.ts';
import type { Turns } from './turns.ts';

type Moved = Extract<StageEvent, { readonly kind: 'engine-moved' }>;

/** Whether what an engine worked on when it was put away may still go on. */
const mayGoOn = (phase: EnginePhase): boolean =>
  KEEPS.includes(phase.kind) && !isInstead(phase) && !(phase.kind === 'asleep' && phase.instead !== undefined);

const KEEPS: readonly EnginePhase['kind'][] = ['awake', 'falling-asleep', 'asleep', 'waking'];

/** What it means for a model that one of its engines is in another phase. */
export class Moves {
  readonly #turns: Turns;
  readonly #replies: Replies;
  readonly #moreRoom: MoreRoom;

  constructor(scene: Scene, stirring: Set<Member>, turns: Turns, replies: Replies) {
    this.#moreRoom = new MoreRoom(scene, stirring, turns, replies);
    this.#turns = turns;
    this.#replies = replies;
  }

  moved(member: Member | undefined, { engine, phase, took }: Moved, now: Millis): void {
    const before = member?.phases.get(engine);
    // The last word of one that was dismissed.
    if (member === undefined || before === undefined) return;
    member.engineIn(engine, phase, took);
    if (phase.kind === 'asleep' && took?.hostMib !== undefined) member.costs.held(phase.level, took.hostMib);
    if (took !== undefined) {
      if (phase.kind === 'awake') member.swap?.woke(took, now);
      else if (member.part.kind === 'leaving') member.part.for?.putAway(member.model, took, now);
    }
    if (isInstead(phase) && member.part.kind === 'leaving') member.part.for?.stumble();
    const failure = failureOf(phase);
    if (!mayGoOn(phase))
      this.#replies.lose(member, 'engine_died', failure?.reason ?? `${member.model} could not be suspended`);
    // That it is still being cleared away is no new failure.
    if (failure === undefined || failureOf(before) !== undefined) return;
    (member.part.kind === 'leaving' ? member.part.for : member.swap)?.stumble();
    if (before.kind === 'awake') {
      const lost = [...member.leases].filter(([, on]) => on === engine).map(([ticket]) => ticket);
      this.#replies.cut(member, lost, 'engine_died', failure.reason);
    }
    const { kind } = member.part;
    if (kind !== 'entering' && kind !== 'on' && kind !== 'draining') return;
    if (this.#moreRoom.make(member, failure, now)) return;
    // A replica that keeps dying beside one that serves is left to its own retries.
    if (failure.giveUp && (kind === 'entering' || !member.anyAwake))
      this.#turns.giveUp(member, failure, retryAtOf(phase), now);
    else if (kind === 'on' && !member.anyAwake) {
      // It died in the middle of its turn. Those who wait for it keep their turn; if nobody does, it is not brought back.
      if (member.lane.length > 0 && !onlyOperatorsBring(member)) this.#turns.enter(member, now);
      else this.#turns.sendOff(member, { kind: 'off' }, now);
    }
  }
}
