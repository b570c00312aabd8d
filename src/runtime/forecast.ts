import type { Millis, ModelId } from '../core/kinds.ts';
import type { Member } from '../core/member.ts';

/** How soon to come back when nothing is known about the model yet. */
const UNKNOWN_MS = 5_000;
const LEAST_MS = 1_000;

/** What starting or waking a model is expected to take; undefined until it has been seen. */
export const startMs = ({ costs, level }: Member): number | undefined => (costs.come(level) ?? costs.come(5))?.ms;

/** The hardware as it is shared now, and by whom. */
export type Shared = { readonly members: ReadonlyMap<ModelId, Member>; readonly capacity: number };

/** Those who are waited for, the first one first, and what all up to each take together. */
type Waiter = { readonly seq: number; readonly untilMs: number };

/** What all of them take. */
type Round = {
  /** Until those who are there have gone, and the room that is left beside them. */
  readonly goMs: number;
  readonly room: number;
  /** Of those who are called already. */
  readonly calledMs: number;
  readonly waiters: readonly Waiter[];
};

/**
 * When models would have their turn, by what is known: those before them come and go first. One look at all members serves for any number of questions
 * about them, and there is none for one that is on.
 */
export class Forecast {
  readonly #shared: Shared;
  readonly #now: Millis;
  #round: Round | undefined;

  constructor(shared: Shared, now: Millis) {
    this.#shared = shared;
    this.#now = now;
  }

  /** When the model can answer: at once if it is awake. */
  readyInMs(model: ModelId): number {
    return this.#shared.members.get(model)?.part.kind === 'on' ? 0 : this.turnInMs(model);
  }

  /** When a request for this model would have its turn. */
  turnInMs(model: ModelId): number {
    const own = this.#shared.members.get(model);
    if (own === undefined) return UNKNOWN_MS;
    const comeMs = startMs(own) ?? UNKNOWN_MS;
    const { part, costs, cost, lane } = own;
    if (part.kind === 'on') return Math.max(LEAST_MS, costs.drainMs);
    if (part.kind === 'entering') return Math.max(LEAST_MS, comeMs - underWay(own, this.#now));
    if (cost === 0) return comeMs;
    this.#round ??= roundOf(this.#shared);
    const { goMs: leaveMs, room, calledMs, waiters } = this.#round;
    const before = waitersBefore(waiters, part.kind === 'out' ? lane.first?.seq : undefined);
    const called = calledMs - (part.kind === 'summoned' ? turnMs(own) : 0);
    // Who fits beside those who are there waits for none of them.
    if (cost <= room && before === 0 && called === 0) return comeMs;
    return comeMs + leaveMs - goMs(own) + called + before;
  }
}

function roundOf({ members, capacity }: Shared): Round {
  let [room, leaveMs, calledMs, untilMs] = [capacity, 0, 0, 0];
  const waiting: { readonly seq: number; readonly ms: number }[] = [];
  for (const member of members.values()) {
    const { cost, part, lane } = member;
    if (cost === 0) continue;
    if (member.occupies) room -= cost;
    leaveMs += goMs(member);
    if (part.kind === 'summoned') calledMs += turnMs(member);
    else if (part.kind === 'out' && lane.first !== undefined) waiting.push({ seq: lane.first.seq, ms: turnMs(member) });
  }
  waiting.sort((a, b) => a.seq - b.seq);
  const waiters = waiting.map(({ seq, ms }) => ({ seq, untilMs: (untilMs += ms) }));
  return { goMs: leaveMs, room, calledMs, waiters };
}

/** What those take who are waited for since before this request; all of them where nobody waits yet. */
function waitersBefore(waiters: readonly Waiter[], seq: number | undefined): number {
  if (seq === undefined) return waiters.at(-1)?.untilMs ?? 0;
  let [low, high] = [0, waiters.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((waiters[middle]?.seq ?? seq) < seq) low = middle + 1;
    else high = middle;
  }
  return waiters[low - 1]?.untilMs ?? 0;
}

/** What a member takes until it has gone; nothing if it is not there. */
function goMs({ part, costs, sleepLevel, leases }: Member): number {
  if (part.kind !== 'on' && part.kind !== 'draining' && part.kind !== 'entering') return 0;
  const busy = part.kind === 'entering' || leases.size > 0;
  return costs.goMs(sleepLevel) + (busy ? costs.drainMs : 0);
}

/** What a turn of a member takes, without its end. */
const turnMs = (member: Member): number => (startMs(member) ?? UNKNOWN_MS) + member.costs.drainMs;

/** For how long an engine of it has been on its way. */
function underWay({ phases }: Member, now: Millis): number {
  let longest = 0;
  for (const phase of phases.values())
    if (phase.kind === 'starting' || phase.kind === 'waking') longest = Math.max(longest, now - phase.since);
  return longest;
}
