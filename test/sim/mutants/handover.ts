import { of, type Mutant } from './mutant.ts';

const where = { handovers: true } as const;
const handover = of('handover.ts', where);
const stage = of('stage.ts', where);

/** Guards of how a stage hands its engines on, and how another one takes them over. */
export const HANDOVER: readonly Mutant[] = [
  handover(
    'a swap that has not begun goes on while all stands still',
    'this.#stands = true;\n    this.#withdraw(now);',
    'this.#stands = true;',
  ),
  of('handover.ts', { handovers: true, extras: true, reloads: true, urgency: true })(
    'a start that was to be tried once more is left open',
    'this.#withdraw(now);\n    const hope',
    'const hope',
  ),
  handover(
    'who waits is not told that another catnap takes over',
    "this.#replies.rejectAll(member, 'restarting', WHY, hope);",
    ';',
  ),
  handover('an unload that is under way is forgotten', 'member.unloads = [...(handed.unload?.orders ?? [])];', ''),
  handover('who is being unloaded stays', 'unload === undefined && (left', '(left'),
  handover('the stage never goes on after it stood still', "event.kind === 'standstill-over') this", 'false) this'),
  of('handover.ts', { handovers: true, freezes: true, policy: 'slack' })(
    'it is handed over with suspended requests',
    'for (const { frozen } of members.values()) if (frozen.size > 0) return false;',
    '',
  ),
  of('stage.ts', { handovers: true, freezes: true, policy: 'slack' })(
    'requests are suspended while it is to be handed over',
    'comesBack(leaver, this.mode) && !this.#standstill.isAsked;',
    'comesBack(leaver, this.mode);',
  ),
  of('stage.ts', { handovers: true, freezes: true, policy: 'slack' })(
    'it stands still too late for anybody to hear of it',
    'const hasStood = this.#standstill.begin(this.#members, now);',
    'const hasStood = false;',
  ),
  of('handover.ts', { handovers: true, extras: true, reloads: true, urgency: true })(
    'it is handed over while somebody comes in',
    "part.kind === 'entering' || ",
    '',
  ),
  handover('what an operator put away for good is not', 'member.held = handed.held;', ''),
  handover('with how many engines it came is forgotten', 'member.replicas = handed.replicas;', ''),
  handover('what was to start anew is not', 'member.stale = handed.stale && !member.gone;', ''),
  of('handover.ts', { handovers: true, extras: true })(
    'since when it has nothing to do is forgotten',
    'member.quietSince = handed.quietSince;',
    '',
  ),
  handover('since when it is on is forgotten', 'since: onSince', 'since: now'),
  handover(
    'those who are served by nobody any more keep their place',
    "if (member.phases.get(engine)?.kind === 'awake') member.lend(",
    'member.lend(',
  ),
  handover('those who are served count for nothing', 'member.lend(ticket, engine, now);', ';'),
  handover(
    'an engine that died as it changed hands stays away',
    "replies.setGoal(member.engines, { kind: 'awake' }, false);",
    '',
  ),
  stage('a swap begins while all stands still', 'if (this.#standstill.stands) return stay;', ''),
  of('stage.ts', { handovers: true, extras: true, reloads: true, urgency: true })(
    'somebody comes in while all stands still',
    'if (!this.#standstill.stands) this.#entrance',
    'this.#entrance',
  ),
  of('stage.ts', { handovers: true, extras: true })(
    'somebody goes deeper while all stands still',
    'return this.accepting && !this.#standstill.isAsked;',
    'return this.accepting;',
  ),
  of('homing.ts', { handovers: true, extras: true })(
    'a stage goes home while it stands still',
    'if (!begins) return stay;',
    '',
  ),
  stage('the mode is forgotten', 'this.#replies.steering.takeOver(mode);', ''),
];
