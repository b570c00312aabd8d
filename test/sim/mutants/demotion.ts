import { of, type Mutant } from './mutant.ts';

const demotion = of('demotion.ts', { extras: true });
const member = of('member.ts', { extras: true });
const engine = of('engine.ts', { extras: true });

/** Guards of who goes deeper by itself. */
export const DEMOTION: readonly Mutant[] = [
  demotion('who is busy goes deeper', 'busy ? undefined : (member.quietSince ?? now)', 'member.quietSince ?? now'),
  demotion('models go deeper in manual mode', "mode.kind === 'manual'", 'false'),
  demotion('a kept model goes deeper', 'member.terms.keep === true || ', ''),
  demotion('what only operators bring back goes deeper', 'onlyOperatorsBring(member) || ', ''),
  demotion(
    'sleepers go deeper amid a swap',
    "if (part.kind !== 'on' && (part.kind !== 'out' || lane.length > 0 || !atRest)) return false;",
    '',
  ),
  demotion('sleepers go deeper while others wait', 'if (this.#candidates.size > 0) return false;', ''),
  demotion('who came back is idle as long as before', "part.kind === 'on' ? part.since : 0", '0'),
  demotion('min_active is nothing to who is idle', 'part.since + this.#turns.minActiveMs', '0'),
  demotion(
    'sleepers stay where they are',
    'const at = sleeps(member) ? this.#nextAt(member) : undefined;',
    'const at = undefined as Millis | undefined;',
  ),
  demotion('a sleeper goes to where it is', 'demote.filter(({ level }) => isDeeper(level, member.lightest))', 'demote'),
  demotion('who is on stays on', "if (member.part.kind === 'on') due = soonest(due, this.#nextAt(member));", ''),
  demotion('another mode is not looked at', 'mode === this.#mode ? this', 'mode !== undefined ? this'),
  member(
    'who was told to start takes no room before it says so',
    'if (phase !== undefined && atRest(phase) && !waits) this.#called.add(engine);',
    'void waits;',
  ),
  member(
    'a sleeper that is to go deeper counts as there',
    "goal.kind !== 'off' && (goal.kind === 'awake' || !isDeeper(goal.level, level));",
    "goal.kind !== 'off' || level === undefined;",
  ),
  engine(
    'a sleeper never goes deeper',
    "if (goal.kind === 'asleep') return deepen(engine, phase.level, goal.level, now, rules);",
    "if (goal.kind === 'asleep') return still(engine);",
  ),
  engine('a sleeper comes up', '  if (!isDeeper(to, from)) return still(engine);\n', ''),
  engine(
    'a sleeper goes less deep than it is told',
    'rules.naps.includes(nap) && !isDeeper(to, nap)',
    'rules.naps.includes(nap)',
  ),
];
