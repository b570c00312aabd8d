import { of, type Mutant } from './mutant.ts';

const room = of('more-room.ts', { extras: true });
const roomAfresh = of('more-room.ts', { policy: 'cost_aware', extras: true, reloads: true });
const turns = of('turns.ts', { extras: true });
const moves = of('moves.ts', { extras: true });

/** Guards of the second try of a start that ran out of memory. */
export const MORE_ROOM: readonly Mutant[] = [
  moves('a start that ran out of memory is given up', 'if (this.#moreRoom.make(member, failure, now)) return;', ''),
  room('it is tried for ever', ' || member.roomAsked', ''),
  room('it is tried though nobody makes room', 'if (from.length === 0) return false;', ''),
  room('who is kept makes room', 'terms.keep === true || ', ''),
  room('sleepers make no room', 'const from = [...sleepers, ...awake];', 'const from = [...awake];'),
  roomAfresh(
    'sleepers make room in no order',
    '(a.quietSince ?? now) - (b.quietSince ?? now)',
    '(b.quietSince ?? now) - (a.quietSince ?? now)',
  ),
  room('who has just come makes room', 'after(part.since, minActiveMs) <= now', 'minActiveMs >= 0'),
  turns('it comes before there is more room', 'hasRoom && !member.roomIsComing', 'hasRoom'),
];
