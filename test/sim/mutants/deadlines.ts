import { of, type Mutant } from './mutant.ts';

const where = { deadlines: true } as const;
const lane = of('lane.ts', where);

export const DEADLINES: readonly Mutant[] = [
  lane('a deadline is not looked for', 'if (hasDeadline(held)) this.#deadlines.push(held);', ''),
  lane(
    'a deadline stands still with patience',
    'if (this.#pausedAt !== undefined) return lateAt;',
    'if (this.#pausedAt !== undefined) return undefined;',
  ),
  lane(
    'everybody goes with who is too late',
    'after(deadline, -leastMs) <= now;',
    'after(deadline, -leastMs) <= FOREVER;',
  ),
  of('member.ts', where)(
    'who cannot come in time is waited for',
    'atLeast(this.costs.come(this.level)) : 0;',
    '0 * atLeast(this.costs.come(this.level)) : 0;',
  ),
  of('stage.ts', where)(
    'somebody goes for one who is too late with that',
    'if (this.#patience.refuseLate(member, leavers, now)) return true;',
    '',
  ),
];
