import { of, type Mutant } from './mutant.ts';

const doors = of('doors.ts');
const steering = of('steering.ts');
const stage = of('stage.ts');
const turns = of('turns.ts');
const moves = of('moves.ts');

/** Guards of what operators keep to themselves. */
export const DOORS: readonly Mutant[] = [
  doors(
    'requests bring in what only operators may',
    'terms.shut !== undefined || held;',
    'false && terms === undefined && held;',
  ),
  doors('a held model is brought back', 'terms.shut !== undefined || held;', 'terms.shut !== undefined && !held;'),
  doors('manual mode stops nobody', "if (mode.kind === 'auto' || ", 'if (true || '),
  doors('the pinned model is kept out', 'mode.pinned === model || ', ''),
  doors('who fails is said to be away', 'if (failure !== undefined)', 'if (false && failure !== undefined)'),
  steering(
    'a pin that failed stays',
    'if (next === undefined) this.#mode = gone.mode;',
    'if (next === undefined) return;',
  ),
  steering('automatic mode keeps the pin', "kind === 'auto' ? AUTO : { kind, pinned }", "({ kind: 'manual', pinned })"),
  stage('a shut model keeps those who wait', '    this.#replies.shutDoor(member);\n', ''),
  moves(
    'who only operators bring back comes back by itself',
    'if (member.lane.length > 0 && !onlyOperatorsBring(member)) this.#turns.enter(',
    'if (member.lane.length > 0) this.#turns.enter(',
  ),
  turns('requests wait for no pause', 'member.lane.hasLoad && member.retryAt(now) !== undefined;', 'true;'),
  stage('a load does not end the hold', 'member.wanted(setsLevel);', ''),
  stage(
    'a sleeper wakes with the arguments it had',
    'if (fresh && !member.gone) this.#turns.sendOff(',
    'if (false) this.#turns.sendOff(',
  ),
];
