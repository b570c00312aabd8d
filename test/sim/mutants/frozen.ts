import { of, type Mutant } from './mutant.ts';

const where = { policy: 'slack', freezes: true } as const;
const lane = of('lane.ts', where);
const member = of('member.ts', where);
const moves = of('moves.ts', where);
const patience = of('patience.ts', where);
const replies = of('replies.ts', where);
const stage = of('stage.ts', where);
const turns = of('turns.ts', where);
const deeper = of('turns.ts', { ...where, extras: true });

export const FROZEN: readonly Mutant[] = [
  turns('what was suspended is not told to go on', "this.#replies.push({ kind: 'thaw', tickets, model });", ''),
  turns('what was suspended is not in line', "lane.push({ ticket, kind: 'frozen',", "({ ticket, kind: 'frozen',"),
  deeper(
    'who was suspended is put deeper in silence',
    "if (goal.kind !== 'asleep' || goal.frozen !== true)",
    'if (now < 0)',
  ),
  turns('who went on is suspended again at once', '|| now - part.since <= costs.thereAndBackMs(level)', ''),
  turns('who was suspended never is away', 'leases.size !== frozen.size', 'leases.size > 0'),
  stage('who is not brought back is suspended', 'comesBack(leaver, this.mode) && !this', '!this'),
  moves('who was suspended is lost in silence', 'if (!mayGoOn(phase))', 'if (now < 0)'),
  moves('what is done in place of a suspension goes on with it', '&& !isInstead(phase) &&', '&&'),
  member('who leaves while suspended stays in line', 'if (this.frozen.delete(ticket)) this.lane.remove(ticket);', ''),
  patience(
    'who is suspended for too long is sent away as if it had no lease',
    "if (kind === 'frozen') {",
    'if (now < 0) {',
  ),
  replies('who was suspended is lost and stays in line', '    member.lane.takeFrozen();\n    this.cut', '    this.cut'),
  lane('who is suspended takes the place of others in line', '- this.#frozen >= this.#limit', '>= this.#limit'),
];
