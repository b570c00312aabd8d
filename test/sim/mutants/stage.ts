import { of, type Mutant } from './mutant.ts';

const stage = of('stage.ts');
const slack = of('stage.ts', { policy: 'slack' });
const urgent = of('stage.ts', { urgency: true });

export const STAGE: readonly Mutant[] = [
  stage(
    'requests are taken while shutting down',
    'if (this.#closing !== undefined) this.#reject(',
    'if (false) this.#reject(',
  ),
  stage(
    'requests are taken while unloading',
    'else if (member.unloads.length > 0) this.#reject(',
    'else if (false) this.#reject(',
  ),
  stage('leases on a dead engine stay open', "if (before.kind === 'awake') {", 'if (false) {'),
  stage('nobody is given up', 'if (failure.giveUp && ', 'if (false && '),
  stage('a replica takes the others down', "(kind === 'entering' || !member.anyAwake))\n", '!!kind)\n'),
  stage(
    'giving up tells nobody',
    "this.#rejectAll(member, 'engine_failed', failure.reason, { retryAt, failure });",
    '',
  ),
  stage(
    'giving up leaves the swap open',
    "    this.#finishSwap(member, 'failed', now);\n    this.#sendOff(member, { kind: 'off' }, now);\n  }",
    "    this.#sendOff(member, { kind: 'off' }, now);\n  }",
  ),
  stage(
    'giving up leaves the goal awake',
    "    this.#finishSwap(member, 'failed', now);\n    this.#sendOff(member, { kind: 'off' }, now);\n  }",
    "    this.#finishSwap(member, 'failed', now);\n    member.lane.resume(now);\n    member.part = { kind: 'out' };\n  }",
  ),
  stage(
    'who dies in its turn loses it',
    'if (member.lane.length > 0 && !onlyOperatorsBring(member)) this.#enter(member, now);',
    'if (false) this.#enter(member, now);',
  ),
  stage(
    'who dies idle is brought back',
    'if (member.lane.length > 0 && !onlyOperatorsBring(member)) this.#enter(member, now);',
    'if (true) this.#enter(member, now);',
  ),
  stage(
    'an unload leaves people waiting',
    "this.#rejectAll(member, 'model_unloading', `${member.model} is being unloaded`);",
    '',
  ),
  stage(
    'an unload does not drain',
    'this.#drain(member, part, { goal, for: undefined, batch: Batch.none, now });',
    'this.#sendOff(member, goal, now);',
  ),
  stage('a second unload changes nothing', 'member.part = { ...part, batch: Batch.none, goal };', ''),
  stage(
    'an unload leaves the swap open',
    "this.#finishSwap(member, 'failed', now);\n        this.#sendOff(member, goal, now);",
    'this.#sendOff(member, goal, now);',
  ),
  stage(
    'an unload leaves the model summoned',
    '        this.#withdraw(member, now);\n        this.#sendOff(member, goal, now);',
    '        this.#sendOff(member, goal, now);',
  ),
  stage(
    'a shorter shutdown changes nothing',
    'millis(Math.min(this.#closing.deadline, deadline))',
    'this.#closing.deadline',
  ),
  stage(
    'a load outlives the shutdown',
    'for (const load of member.lane.takeLoads())\n',
    'for (const load of [] as readonly Waiting[])\n',
  ),
  stage(
    'nobody runs out of patience',
    'of member.lane.takeExpired(now)) {',
    'of member.lane.takeExpired(now).slice(0, 0)) {',
  ),
  stage(
    'nobody is withdrawn',
    "if (member.part.kind === 'summoned' && member.lane.length === 0) this.#withdraw(member, now);",
    '',
  ),
  stage(
    'it is out while leases are open',
    'member.isAway(part.goal) && member.leases.size === 0)',
    'member.isAway(part.goal))',
  ),
  stage(
    'it is out before it is at rest',
    'member.isAway(part.goal) && member.leases.size === 0)',
    'member.leases.size === 0)',
  ),
  stage(
    'who waits through a failure is not told',
    'if (failed !== undefined)\n      this.#rejectAll(',
    'if (false) this.#rejectAll(',
  ),
  stage('the drain has no deadline', '!was.cut && now >= was.deadline ?', 'false ?'),
  stage(
    'a drain does not wait for its leases',
    'if (member.leases.size === 0 || !member.anyAwake) this.#sendOff(',
    'if (true) this.#sendOff(',
  ),
  stage(
    'a dead model drains on',
    'if (member.leases.size === 0 || !member.anyAwake) this.#sendOff(',
    'if (member.leases.size === 0) this.#sendOff(',
  ),
  stage(
    'the cut batch still counts',
    'this.#cutDrain(member, was) : was;',
    '(this.#cutDrain(member, was), was) : was;',
  ),
  stage(
    'it enters without room',
    'if (member.terms.cost > Math.max(0, room) || !member.atRest) continue;',
    'if (!member.atRest) continue;',
  ),
  stage('who needs no room waits for room', 'Math.max(0, room)', 'room'),
  stage('two enter the same room', '      room -= member.terms.cost;\n      this.#summoned', '      this.#summoned'),
  stage(
    'its engines are awake and patience stands still',
    "      member.lane.resume(now);\n      member.part = { kind: 'on'",
    "      member.part = { kind: 'on'",
  ),
  stage(
    'who was there when it began is left out',
    'since: now, from: this.#seq, served: 0',
    'since: now, from: 0, served: 0',
  ),
  stage(
    'a draining model serves on',
    'if (member.anyAwake) this.#serve(member, part.batch, now);',
    'if (member.anyAwake) this.#serve(member, Batch.all, now);',
  ),
  stage('a draining model serves nobody', 'if (member.anyAwake) this.#serve(member, part.batch, now);', ''),
  stage('who stays after all is not asked first', 'if (!asksFirst) for (const member', 'for (const member'),
  stage(
    'who stays after all serves nobody',
    'if (!this.#decide(now) && !asksFirst) break;',
    'if (!this.#decide(now)) break;',
  ),
  stage('the stage does not look again', "decision.kind === 'look-again' ? decision.at : undefined;", 'undefined;'),
  stage(
    'the batch closes too early',
    'Batch.endingBefore(first, part.from, this.#seq)',
    'Batch.endingBefore(first, part.from, 0)',
  ),
  stage('the batch closes too late', 'Batch.endingBefore(first, part.from, this.#seq)', 'Batch.all'),
  slack('slack serves a batch to its end', "&& decision.batch === 'earlier';", ';'),
  urgent('requests that would have nobody put away wake their model', 'else if (bound && !isThere)', 'else if (false)'),
  urgent(
    'requests that would have nobody put away wait on when it goes',
    'for (const { ticket } of member.lane.takeBound()) this.#refuseBound(ticket, member.model);',
    '',
  ),
  stage('candidates are not told of a shutdown', 'if (member.lane.length > 0) this.#stirring.add(member);', ''),
  stage(
    'candidates are not looked at when their time is up',
    'for (const member of this.#candidates.overdue(now)) this.#stirring.add(member);',
    'this.#candidates.overdue(now);',
  ),
  stage('shutting down waits for nobody', 'if (busy && now < closing.deadline) return;', ''),
  stage('shutting down waits for ever', 'if (busy && now < closing.deadline) return;', 'if (busy) return;'),
  stage('shutting down cuts under leases', '      if (member.leases.size > 0) continue;\n', ''),
  stage('closed while engines run', '.every((member) => member.gone);', '.length > 0;'),
  stage(
    'closed is told again',
    'if (closing === undefined || closing.done) return;',
    'if (closing === undefined) return;',
  ),
  stage(
    'shutting down leaves leases open',
    "this.#cut(member, [...member.leases.keys()], 'shutting_down', 'catnap is shutting down');",
    '',
  ),
  stage(
    'shutting down leaves people waiting',
    "    this.#rejectAll(member, 'shutting_down', 'catnap is shutting down');\n    this.#cut",
    '    this.#cut',
  ),
  stage('entering does not stop the clock', 'member.lane.pause(now);', ''),
  stage('leases are not cut though nothing is drained', 'if (!this.#options.drains) this.#cutDrain(member, part);', ''),
  stage(
    'the cut tells nobody',
    "this.#cut(member, [...member.leases.keys()], 'drained', `${member.model} had to make room`);",
    '',
  ),
  stage(
    'sending off leaves the goal',
    "for (const engine of member.phases.keys()) this.#effects.push({ kind: 'set-goal', engine, goal, atOnce });",
    '',
  ),
  stage(
    'nobody stays when a swap is withdrawn',
    'member.part = { ...part.was, idleSince:',
    'void { ...part.was, idleSince:',
  ),
  stage('all stay when a swap is withdrawn', 'if (terms.cost > this.#room) continue;', ''),
  stage(
    'the cut stay when a swap is withdrawn',
    'part.for?.withdrawn !== true || part.cut ||',
    'part.for?.withdrawn !== true ||',
  ),
  stage(
    'the unloaded stay when a swap is withdrawn',
    'part.cut || unloads.length > 0) continue;',
    'part.cut) continue;',
  ),
  stage(
    'all who drain stay when there is room',
    "part.kind !== 'draining' || part.for?.withdrawn !== true ||",
    "part.kind !== 'draining' ||",
  ),
  stage('a swap is finished again', '    member.swap = undefined;\n', ''),
  stage(
    'a withdrawn model stays in the queue',
    "    this.#summoned = this.#summoned.filter((other) => other !== member);\n    member.part = { kind: 'out' };",
    "    member.part = { kind: 'out' };",
  ),
];
