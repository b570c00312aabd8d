import { of, type Mutant } from './mutant.ts';

const stage = of('stage.ts');
const closing = of('closing.ts');
const entrance = of('entrance.ts');
const orders = of('orders.ts');
const turns = of('turns.ts');
const moves = of('moves.ts');
const replies = of('replies.ts');
const slack = of('stage.ts', { policy: 'slack' });
const urgent = of('stage.ts', { urgency: true });
const homing = of('homing.ts', { extras: true });
const extras = of('stage.ts', { extras: true });
const extraTurns = of('turns.ts', { extras: true });
const urgentTurns = of('turns.ts', { urgency: true });

export const STAGE: readonly Mutant[] = [
  stage(
    'requests are taken while shutting down',
    'if (this.#closing !== undefined) this.#replies.reject(',
    'if (false) this.#replies.reject(',
  ),
  stage(
    'requests are taken while unloading',
    'else if (member.unloads.length > 0)\n      this.#replies.reject(',
    'else if (false)\n      this.#replies.reject(',
  ),
  moves('leases on a dead engine stay open', "if (before.kind === 'awake') {", 'if (false) {'),
  moves('nobody is given up', 'if (failure.giveUp && ', 'if (false && '),
  moves('a replica takes the others down', "(kind === 'entering' || !member.anyAwake))\n", '!!kind)\n'),
  turns(
    'giving up tells nobody',
    "this.#replies.rejectAll(member, 'engine_failed', failure.reason, { retryAt, failure });",
    '',
  ),
  turns(
    'giving up leaves the swap open',
    "    this.finishSwap(member, 'failed', now);\n    this.sendOff(member, { kind: 'off' }, now);\n  }",
    "    this.sendOff(member, { kind: 'off' }, now);\n  }",
  ),
  turns(
    'giving up leaves the goal awake',
    "    this.finishSwap(member, 'failed', now);\n    this.sendOff(member, { kind: 'off' }, now);\n  }",
    "    this.finishSwap(member, 'failed', now);\n    member.lane.resume(now);\n    member.part = { kind: 'out' };\n  }",
  ),
  moves(
    'who dies in its turn loses it',
    'if (member.lane.length > 0 && !onlyOperatorsBring(member)) this.#turns.enter(member, now);',
    'if (false) this.#turns.enter(member, now);',
  ),
  moves(
    'who dies idle is brought back',
    'if (member.lane.length > 0 && !onlyOperatorsBring(member)) this.#turns.enter(member, now);',
    'if (true) this.#turns.enter(member, now);',
  ),
  orders(
    'an unload leaves people waiting',
    "this.#replies.rejectAll(member, 'model_unloading', `${member.model} is being unloaded`);",
    '',
  ),
  orders(
    'an unload does not drain',
    'this.#turns.drain(member, part, { goal, for: undefined, batch: Batch.none, now });',
    'this.#turns.sendOff(member, goal, now);',
  ),
  orders('a second unload changes nothing', 'member.part = { ...part, batch: Batch.none, goal };', ''),
  orders(
    'an unload leaves the swap open',
    "this.#turns.finishSwap(member, 'failed', now);\n        this.#turns.sendOff(member, goal, now);",
    'this.#turns.sendOff(member, goal, now);',
  ),
  orders(
    'an unload leaves the model summoned',
    '        this.#turns.withdraw(member, now);\n        this.#turns.sendOff(member, goal, now);',
    '        this.#turns.sendOff(member, goal, now);',
  ),
  closing('a shorter shutdown changes nothing', 'millis(Math.min(this.#deadline, deadline))', 'this.#deadline'),
  closing(
    'a load outlives the shutdown',
    'for (const load of lane.takeLoads())',
    'for (const load of lane.takeLoads().slice(0, 0))',
  ),
  of('patience.ts')(
    'nobody runs out of patience',
    'of lane.takeExpired(now)) this',
    'of lane.takeExpired(now).slice(0, 0)) this',
  ),
  turns(
    'nobody is withdrawn',
    "if (part.kind === 'summoned') this.withdraw(member, now);",
    "if (part.kind === 'summoned') return;",
  ),
  turns('it is out while leases are open', ' || leases.size !== frozen.size) return false;', ') return false;'),
  turns('it is out before it is at rest', ' || !member.isAway(part.goal) ||', ' ||'),
  replies(
    'who waits through a failure is not told',
    'if (failed === undefined) return;',
    'if (!failed?.at) return;\n    if (failed) return;',
  ),
  stage('the drain has no deadline', '!was.cut && now >= was.deadline ?', 'false ?'),
  stage(
    'a drain does not wait for its leases',
    'if (member.leases.size === 0 || !member.anyAwake) this.#turns.sendOff(',
    'if (true) this.#turns.sendOff(',
  ),
  stage(
    'a dead model drains on',
    'if (member.leases.size === 0 || !member.anyAwake) this.#turns.sendOff(',
    'if (member.leases.size === 0) this.#turns.sendOff(',
  ),
  stage(
    'the cut batch still counts',
    'this.#turns.cutDrain(member, was) : was;',
    '(this.#turns.cutDrain(member, was), was) : was;',
  ),
  entrance('it enters without room', 'member.cost <= Math.max(0, room) && member.atRest;', 'member.atRest;'),
  entrance('who needs no room waits for room', 'Math.max(0, room)', 'room'),
  entrance('two enter the same room', '      if (fits) room -= member.cost;\n', ''),
  turns(
    'its engines are awake and patience stands still',
    '    member.lane.resume(now);\n    const { model, frozen, leases } = member;',
    '    const { model, frozen, leases } = member;',
  ),
  stage(
    'who was there when it began is left out',
    'this.#turns.begin(member, this.#seq, now);',
    'this.#turns.begin(member, 0, now);',
  ),
  stage(
    'a draining model serves on',
    'if (member.anyAwake) this.#turns.serve(member, part.batch, now);',
    'if (member.anyAwake) this.#turns.serve(member, Batch.all, now);',
  ),
  stage('a draining model serves nobody', 'if (member.anyAwake) this.#turns.serve(member, part.batch, now);', ''),
  stage('who stays after all is not asked first', 'if (!asksFirst) for (const member', 'for (const member'),
  stage(
    'who stays after all serves nobody',
    'if (!this.#decide(now) && !asksFirst && !hasStood) break;',
    'if (!this.#decide(now) && !hasStood) break;',
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
  urgentTurns(
    'requests that would have nobody put away wait on when it goes',
    'for (const { ticket } of member.lane.takeBound()) this.#replies.refuseBound(ticket, member.model);',
    '',
  ),
  closing('candidates are not told of a shutdown', 'if (member.lane.length > 0) stir(member);', ''),
  stage(
    'candidates are not looked at when their time is up',
    'for (const member of this.#candidates.overdue(now)) this.#stirring.add(member);',
    'this.#candidates.overdue(now);',
  ),
  closing('shutting down waits for nobody', 'if (now < this.#deadline && isBusy()) return [];', ''),
  closing(
    'shutting down waits for ever',
    'if (now < this.#deadline && isBusy()) return [];',
    'if (isBusy()) return [];',
  ),
  closing(
    'shutting down cuts under leases',
    "    if (member.leases.size > 0 && member.part.kind !== 'entering') return false;\n",
    '',
  ),
  of('closing.ts', { policy: 'time_slice', extras: true, reloads: true })(
    'who died is started again though the time to shut down is up',
    " && member.part.kind !== 'entering'",
    '',
  ),
  closing('closed while engines run', '.every((member) => member.gone);', '.length > 0;'),
  closing(
    'closed is told again',
    'if (this.#done || this.#left.size > 0) return false;',
    'if (this.#left.size > 0) return false;',
  ),
  closing(
    'shutting down leaves leases open',
    "this.#replies.cut(member, [...member.leases.keys()], 'shutting_down', WHY);",
    '',
  ),
  closing(
    'shutting down leaves people waiting',
    "    this.#replies.rejectAll(member, 'shutting_down', WHY);\n    this.#replies.cut",
    '    this.#replies.cut',
  ),
  turns('entering does not stop the clock', 'member.lane.pause(now);', ''),
  turns('leases are not cut though nothing is drained', 'if (!this.#options.drains) this.cutDrain(member, part);', ''),
  turns(
    'the cut tells nobody',
    "this.#replies.cut(member, [...member.leases.keys()], 'drained', `${member.model} had to make room`, mayReturn);",
    '',
  ),
  turns('sending off leaves the goal', 'this.#replies.setGoal(member.phases.keys(), goal, atOnce);', ''),
  turns('nobody stays when a swap is withdrawn', 'member.part = { ...was, idleSince:', 'void { ...was, idleSince:'),
  stage('all stay when a swap is withdrawn', 'cost > this.#sights.room(this.#shared) || ', ''),
  stage('the unloaded stay when a swap is withdrawn', '|| unloads.length > 0) continue;', ') continue;'),
  stage(
    'all who drain stay when there is room',
    "part.kind !== 'draining' || part.for?.withdrawn !== true ||",
    "part.kind !== 'draining' ||",
  ),
  turns('a swap is finished again', '    member.swap = undefined;\n', ''),
  turns(
    'a withdrawn model stays in the queue',
    "    this.#unsummon(member);\n    member.part = { kind: 'out' };",
    "    member.part = { kind: 'out' };",
  ),
  extras('who comes back stands behind all', 'const { rank, seq } = place ?? {', 'const { rank, seq } = {'),
  extras('who comes back finds the lane full', 'else if (lane.full && place === undefined)', 'else if (lane.full)'),
  extraTurns(
    'whoever is cut may come back',
    'const mayReturn = this.#options.drains && was.for !== undefined;',
    'const mayReturn = true;',
  ),
  extraTurns(
    'a start that is for nobody goes on',
    'else if (this.#options.cancelsAbandoned === true) this.#callOff(member, now);',
    '',
  ),
  extraTurns(
    'a start that is for nobody is never let finish',
    'else if (this.#options.cancelsAbandoned === true) ',
    'else ',
  ),
  extraTurns(
    'whoever goes home gives way to nobody',
    'swap?.unasked === true && !anyoneWaits()',
    'swap?.unasked === true',
  ),
  homing('it goes home before it is time', 'after(this.#since, target?.afterMs ?? 0),', 'now,'),
  homing('it goes home in manual mode', "mode.kind === 'manual'", 'false'),
  homing('it counts as idle while it serves', 'if (lane.length > 0 || leases.size > 0) {', 'if (lane.length > 0) {'),
  homing('it never goes home again', 'this.#wasHome = false;', ''),
];
