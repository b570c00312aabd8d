import { onlyOperatorsBring } from './doors.ts';
import { atRest, type EnginePhase } from './engine.ts';
import { after, type EngineId, type Millis, type ModelId, type SleepLevel, type TicketId } from './kinds.ts';
import { Member } from './member.ts';
import type { ModelTerms } from './terms.ts';
import { Batch } from './place.ts';
import type { Replies } from './replies.ts';
import type { StageEvent } from './stage-events.ts';
import type { Turns } from './turns.ts';

/** A model as another catnap leaves it, with its engines as they were found. */
export type HandedMember = {
  /** As it was: the config of this stage is compared with that, as after a reload. */
  readonly terms: ModelTerms;
  readonly stale: boolean;
  readonly held: boolean;
  readonly replicas: number;
  /** What an operator has set. */
  readonly level: SleepLevel | undefined;
  readonly unload: UnloadUnderWay | undefined;
  readonly onSince: Millis | undefined;
  readonly quietSince: Millis | undefined;
  readonly phases: ReadonlyMap<EngineId, EnginePhase>;
  /** Requests that its former stage granted and that are still open. */
  readonly leases: readonly { readonly ticket: TicketId; readonly engine: EngineId }[];
};

/** Orders to unload a model that are being carried out, and how deep it goes for them. */
export type UnloadUnderWay = { readonly orders: readonly TicketId[]; readonly level: SleepLevel };

const OFF = { kind: 'off' } as const;
const WHY = 'catnap restarts, and keeps its models as they are';
/** How soon whoever is sent away may come back. */
const AGAIN_MS = 1_000;

/**
 * How a stage hands its engines on: it begins nothing new, and once none of them is on its way it lets go of all. Only their own catnap can let suspended
 * requests go on, so before that their models come back, in turns as ever, and nobody else is suspended.
 */
export class Standstill {
  readonly #turns: Turns;
  readonly #replies: Replies;
  #isAsked = false;
  #stands = false;
  #hasLetGo = false;

  constructor(turns: Turns, replies: Replies) {
    this.#turns = turns;
    this.#replies = replies;
  }

  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** Whether nothing new begins. */
  get stands(): boolean {
    return this.#stands;
  }

  /** From then on nothing is decided any more. */
  get hasLetGo(): boolean {
    return this.#hasLetGo;
  }

  /** Whether that is all that comes of the event: after it has let go, nothing else does. */
  takes(event: StageEvent, members: ReadonlyMap<ModelId, Member>, now: Millis): boolean {
    if (this.#hasLetGo) this.#answer(event, members, now);
    else if (event.kind === 'standstill-asked') this.#isAsked = true;
    else if (event.kind === 'standstill-over') this.#isAsked = this.#stands = false;
    else if (event.kind === 'let-go') this.#letGo(members.values(), now);
    return this.#hasLetGo;
  }

  /** True when it stands still from now on. Swaps that have not begun to bring anybody in are given up then; those that make room for them stay. */
  begin(members: ReadonlyMap<ModelId, Member>, now: Millis): boolean {
    if (!this.#isAsked || this.#stands) return false;
    for (const { frozen } of members.values()) if (frozen.size > 0) return false;
    this.#stands = true;
    this.#withdraw(now);
    return true;
  }

  #letGo(members: Iterable<Member>, now: Millis): void {
    this.#hasLetGo = true;
    // One whose start ran out of memory meanwhile was to come once more.
    this.#withdraw(now);
    const hope = { retryAt: after(now, AGAIN_MS) };
    for (const member of members) this.#replies.rejectAll(member, 'restarting', WHY, hope);
  }

  #withdraw(now: Millis): void {
    for (const member of this.#turns.summoned) this.#turns.withdraw(member, now);
  }

  /** Who comes is sent to the next one, and who was served is done. */
  #answer(event: StageEvent, members: ReadonlyMap<ModelId, Member>, now: Millis): void {
    const ticket = event.kind === 'ticket-arrived' ? event.ticket : 'order' in event ? event.order : undefined;
    if (ticket !== undefined && 'model' in event)
      this.#replies.reject(ticket, event.model, 'restarting', WHY, { retryAt: after(now, AGAIN_MS) });
    if (event.kind === 'lease-settled') members.get(event.model)?.settle(event.ticket, now);
  }
}

/** Whether no engine of a member is on its way anywhere. Those that were called are of one that is entering. */
export function isStill(member: Member): boolean {
  const { part, phases } = member;
  if (part.kind === 'entering' || (part.kind === 'leaving' && !member.isAway(part.goal))) return false;
  return [...phases.values()].every((phase) => phase.kind === 'awake' || atRest(phase));
}

/** What the next one has to go on with. */
export function unloadUnderWay({ unloads, part }: Member): UnloadUnderWay | undefined {
  if (unloads.length === 0) return undefined;
  const goal = part.kind === 'draining' || part.kind === 'leaving' ? part.goal : OFF;
  return { orders: [...unloads], level: goal.kind === 'asleep' ? goal.level : 5 };
}

/** What another stage knew of a model, as of now. */
export function takenOver(handed: HandedMember, now: Millis): Member {
  const { terms, onSince = now, phases, leases } = handed;
  const member = new Member(terms);
  for (const engine of terms.engines) member.phases.set(engine, phases.get(engine) ?? OFF);
  member.levelSet = handed.level;
  member.held = handed.held;
  member.unloads = [...(handed.unload?.orders ?? [])];
  member.replicas = handed.replicas;
  member.stale = handed.stale && !member.gone;
  member.quietSince = handed.quietSince;
  if (member.anyAwake) member.part = { kind: 'on', since: onSince, from: 0, served: 0, idleSince: now };
  for (const { ticket, engine } of leases)
    if (member.phases.get(engine)?.kind === 'awake') member.lend(ticket, engine, now);
  return member;
}

type Surroundings = { readonly room: number; readonly turns: Turns; readonly replies: Replies };

/**
 * Once the config has been compared with what was handed over: whoever is on has all of its engines, whoever died meanwhile is cleared away, whoever
 * was being unloaded goes on with that, and those for whom there is no room any more go as for a swap: the longest unused first, and those who are
 * served last.
 */
export function settleIn(
  members: Iterable<Member>,
  handed: readonly HandedMember[],
  { room, turns, replies }: Surroundings,
  now: Millis,
): void {
  const unloads = new Map(handed.map(({ terms, unload }) => [terms.model, unload]));
  let left = room;
  const on: Member[] = [];
  for (const member of members) {
    const { part } = member;
    if (part.kind === 'on') on.push(member);
    else if (part.kind === 'out' && !member.atRest) turns.sendOff(member, OFF, now);
  }
  for (const member of on.toSorted((a, b) => urgencyOf(b) - urgencyOf(a))) {
    const unload = unloads.get(member.model);
    left -= member.cost;
    if (unload === undefined && (left >= 0 || member.cost === 0)) {
      replies.setGoal(member.engines, { kind: 'awake' }, false);
      continue;
    }
    left += member.cost;
    if (member.part.kind !== 'on') continue;
    const goal = member.awayTo(unload?.level ?? member.sleepLevel);
    turns.drain(member, member.part, { goal, for: undefined, batch: Batch.none, now });
  }
}

/** One that is served counts as used in all eternity; one that only operators bring in would not come back by itself. */
function urgencyOf(member: Member): number {
  if (member.leases.size > 0) return Number.MAX_VALUE;
  if (onlyOperatorsBring(member)) return Number.MAX_SAFE_INTEGER;
  return member.quietSince ?? Number.MAX_SAFE_INTEGER;
}
