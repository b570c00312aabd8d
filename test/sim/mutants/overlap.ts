import { of, type Mutant } from './mutant.ts';

const overlap = of('overlap.ts', { overlap: true });
const giving = of('giving.ts', { overlap: true });
const entrance = of('entrance.ts', { overlap: true });
const room = of('more-room.ts', { overlap: true, extras: true });

/** Guards of coming in while others still leave. */
export const OVERLAP: readonly Mutant[] = [
  overlap('what was measured holds for ever', 'after(reading.takenAt, HOLDS_MS) < now', 'false'),
  overlap('it comes in beside others without room in the budget', 'comer.cost <= room && need', 'need'),
  overlap('it comes in beside others where too little is free', 'need <= free && ', ''),
  overlap('it starts while memory is on its way', '(held === 0 || !sizesItself)', 'held >= 0'),
  overlap('who comes takes nothing of what is free', 'needOf(other, reading) ?? Number.POSITIVE_INFINITY', '0'),
  overlap('what it held before it began to leave counts', 'since >= takenAt || ', ''),
  overlap(
    'of whom nothing was measured holds nothing',
    ' || mib === undefined) return undefined;\n    left += mib;',
    ') return undefined;\n    left += mib ?? 0;',
  ),
  overlap('who leaves counts for nothing', 'room -= Math.min(other.cost, left);', 'room -= 0;'),
  giving('who had just begun to come only gives', 'else if (hadAll)', 'else if (true)'),
  giving('who is being suspended only gives', 'if (!goes || suspends)', 'if (!goes)'),
  giving('who comes again only gives', 'if (!goes || suspends)', 'if (suspends)'),
  entrance('nobody is told who leaves beside it', 'if (beside.length > 0) this.#tell(member, beside);', ''),
  room('it comes in beside others again and again', "member.overlap = 'failed';", ''),
  overlap(
    'it starts beside one of whom nothing is known',
    "if (other.part.kind === 'leaving') held = Number.POSITIVE_INFINITY;",
    '',
  ),
];
