import type { Millis } from './kinds.ts';
import type { Member } from './member.ts';
import type { Replies } from './replies.ts';
import type { Turns } from './turns.ts';

/** Whoever has run out of patience is told, and who stands in the way. */
export function expire(member: Member, others: Iterable<Member>, turns: Turns, replies: Replies, now: Millis): void {
  for (const { ticket, kind, since } of member.lane.takeExpired(now)) {
    const waited = `${member.model} did not get a turn within ${Math.round((now - since) / 1000)} s`;
    if (kind === 'frozen') {
      member.frozen.delete(ticket);
      replies.cut(member, [ticket], 'drained', `${waited} after it was suspended`);
      continue;
    }
    replies.reject(ticket, member.model, 'wait_timeout', `${waited}: ${hindrance(member, others, turns)}`);
  }
}

/** Who stands in the way, in words. */
function hindrance(member: Member, others: Iterable<Member>, turns: Turns): string {
  if (member.part.kind === 'on' || member.part.kind === 'draining') return 'it is busy with earlier requests';
  if (turns.waitsForLoads(member)) return 'other models were loading (policy.max_parallel_loads)';
  const inTheWay = [...others].filter((other) => other !== member && other.occupies);
  return inTheWay.map(({ model, part }) => `${model} is ${part.kind}`).join(', ') || 'others were before it';
}
