import { of, type Mutant } from './mutant.ts';

const where = { reloads: true } as const;
const revision = of('revision.ts', where);
const stage = of('stage.ts', where);
const member = of('member.ts', where);
const candidates = of('candidates.ts', where);

/** What holds when the config is read again. */
export const REVISION: readonly Mutant[] = [
  revision(
    'who waits for a model that leaves for good is not told',
    "this.#replies.rejectAll(member, 'model_not_found', noLonger(member.model));",
    '',
  ),
  revision('a model that leaves for good stays', 'this.#orders.putAway(member, OFF, now);', ''),
  revision(
    'a changed sleeper is woken',
    "      case 'out':\n      case 'leaving':\n        this.#turns.sendOff(member, OFF, now, true);",
    "      case 'out':\n      case 'leaving':",
  ),
  revision(
    'a changed start goes on',
    "this.#turns.finishSwap(member, 'withdrawn', now);\n        this.#turns.sendOff(member, OFF, now);",
    '',
  ),
  revision('what comes back while it leaves is what it was', ' || member.departs;', ';'),
  stage('a changed model serves on as it was', "!(kind === 'load' ? member.stale : this.#isDue(member))", 'true'),
  stage(
    'a changed model that made room for nobody stays',
    ' || member.departs || member.stale || !member.anyAwake) continue;',
    ') continue;',
  ),
  stage(
    'a departing model takes requests',
    'if (member === undefined || member.departs) this',
    'if (member === undefined) this',
  ),
  stage(
    'who was forgotten is still a candidate',
    '    this.#candidates.update(member, now);\n    this.#stirring.delete(member);',
    '    this.#stirring.delete(member);',
  ),
  stage(
    'another config cuts the streams of all',
    'this.#turns.revise(terms.options);',
    "this.#turns.revise(terms.options);\n    for (const each of this.#members.values()) this.#replies.cut(each, [...each.leases.keys()], 'drained', '');",
  ),
  member(
    'another cost counts at once',
    "if (coming === undefined || this.part.kind !== 'out' || !this.atRest) return [];",
    'if (coming === undefined) return [];',
  ),
  member('a changed model is never done with', 'this.stale &&= !this.gone;', ''),
  member('a changed model is put to sleep', 'return this.stale || this.departs ? ', 'return this.departs ? '),
  candidates(
    'who needs no room by now waits for it',
    'if (candidate.cost === 0) this',
    'if (before === undefined && candidate.cost === 0) this',
  ),
  of('member.ts', { reloads: true, extras: true, policy: 'slack' })(
    'engines that sleep are dismissed',
    'if (dropped.length > 0 && !this.gone) return [];',
    '',
  ),
];
