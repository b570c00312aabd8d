import { atLeast } from './costs.ts';
import type { Millis } from './kinds.ts';
import type { Waiting } from './lane.ts';
import type { Member } from './member.ts';
import type { Replies } from './replies.ts';
import type { Turns } from './turns.ts';

/** Who waits no longer, and is told why: it has run out of patience, or its model cannot come by the deadline of its client any more. */
export class Patience {
  readonly #stirring: ReadonlySet<Member>;
  readonly #turns: Turns;
  readonly #replies: Replies;

  constructor(stirring: ReadonlySet<Member>, turns: Turns, replies: Replies) {
    this.#stirring = stirring;
    this.#turns = turns;
    this.#replies = replies;
  }

  expire(member: Member, now: Millis): void {
    const { lane, part, swap } = member;
    for (const waiting of lane.takeExpired(now)) this.#tell(member, waiting, now);
    if (!lane.hasDeadlines) return;
    const goesFor = (other: Member): boolean => other.part.kind === 'draining' && other.part.for === swap;
    this.refuseLate(member, part.kind === 'summoned' ? [...this.#stirring].filter(goesFor) : [], now);
  }

  /** Those who would be too late even if these began to go now. True when there were any: perhaps nobody has to go then. */
  refuseLate(member: Member, leavers: readonly Member[], now: Millis): boolean {
    const { lane, leastMs, costs, level } = member;
    // Where models come in beside those who leave, both together may take no longer than one of them.
    const goes = this.#turns.overlaps ? [] : leavers.map((leaver) => leaver.costs.go(leaver.sleepLevel));
    const goMs = Math.max(0, ...goes.map(atLeast));
    const late = lane.takeLate(now, goMs);
    for (const waiting of late) {
      const leftMs = waiting.since + (waiting.withinMs ?? 0) - now;
      const usuallyMs = Math.max(0, ...goes.map((go) => go?.ms ?? 0)) + (costs.come(level)?.ms ?? 0);
      if (leftMs <= 0) this.#tell(member, waiting, now);
      else this.#refuse(member, waiting, { leftMs, usuallyMs, leastMs: leastMs + goMs });
    }
    return late.length > 0;
  }

  #refuse({ model }: Member, { ticket }: Waiting, { leftMs, usuallyMs, leastMs }: Reckoning): void {
    const takes = `${model} takes about ${secs(usuallyMs)} to be ready, and hardly less than ${secs(leastMs)}`;
    this.#replies.reject(ticket, model, 'wait_timeout', `${takes}; this request waits for ${secs(leftMs)} at the most`);
  }

  #tell(member: Member, { ticket, kind, since }: Waiting, now: Millis): void {
    const { model } = member;
    const waited = `${model} did not get a turn within ${Math.round((now - since) / 1000)} s`;
    if (kind === 'frozen') {
      member.frozen.delete(ticket);
      this.#replies.cut(member, [ticket], 'drained', `${waited} after it was suspended`);
      return;
    }
    this.#replies.reject(ticket, model, 'wait_timeout', `${waited}: ${this.#hindrance(member)}`);
  }

  /** Who stands in the way, in words. */
  #hindrance(member: Member): string {
    const { kind } = member.part;
    if (kind === 'on' || kind === 'draining') return 'it is busy with earlier requests';
    if (kind === 'entering') return 'it is still on its way';
    if (this.#turns.waitsForLoads(member)) return 'other models were loading (policy.max_parallel_loads)';
    const inTheWay = [...this.#stirring].filter((other) => other !== member && other.occupies);
    return inTheWay.map(({ model, part }) => `${model} is ${part.kind}`).join(', ') || 'others were before it';
  }
}

type Reckoning = { readonly leftMs: number; readonly usuallyMs: number; readonly leastMs: number };

const secs = (ms: number): string => `${Math.round(ms / 100) / 10} s`;
