import { of, type Mutant } from './mutant.ts';

const lane = of('lane.ts');
const urgentLane = of('lane.ts', { urgency: true });
const place = of('place.ts', { urgency: true });
const candidates = of('candidates.ts');
const member = of('member.ts');
const swap = of('swap.ts');

export const LANE: readonly Mutant[] = [
  lane('patience runs while the model is on its way', 'this.#pausedAt ??= now;', ''),
  lane('patience stands still for ever', '    this.#pausedAt = undefined;\n  }', '  }'),
  lane('the pause is not counted', 'this.#behind += now - this.#pausedAt;', ''),
  lane('who has left stays in line', 'at !== -1 && this.#takeAt(at) !== undefined;', 'at !== -1;'),
  lane('the last moment of patience is not the end of it', '<= until;', '< until;'),
  lane('who has no patience left is looked for too late', 'if (expires(held)) this.#expiries.push(held);', ''),
  urgentLane('the urgent stand behind', 'isBefore(held, before);', 'held.seq < before.seq;'),
  urgentLane(
    'a lane forgets who would have nobody put away',
    'return this.#bound === 0 ? [] : ',
    'return this.#bound >= 0 ? [] : ',
  ),
  lane('a lane has no end', 'return this.#waiting.length - this.#frozen >= this.#limit;', 'return false;'),
];

export const MEMBER: readonly Mutant[] = [
  member(
    'target_inflight is ignored',
    'let fewest = this.terms.targetInflight;',
    'let fewest = Number.POSITIVE_INFINITY;',
  ),
  member(
    'a grant on an engine that is not awake',
    "if (phase.kind === 'awake' && inFlight < fewest)",
    'if (inFlight < fewest)',
  ),
  member('who was served is not counted', 'served: part.served + 1', 'served: part.served'),
  member(
    'a sleeper that is being ended counts as away',
    "(phase.kind === 'asleep' ? isDone(goal, phase.level) : atRest(phase))",
    'atRest(phase)',
  ),
  member(
    'what is not at rest takes no room',
    "(kind !== 'out' && kind !== 'summoned') || !this.atRest;",
    "kind !== 'out' && kind !== 'summoned';",
  ),
  member(
    'a pause that is over still counts',
    "phase.kind !== 'failed' || phase.retryAt <= now ||",
    "phase.kind !== 'failed' ||",
  ),
  member(
    'more engines than usual take no more',
    'if (costEach === undefined) return cost;',
    'if (costEach !== 0) return cost;',
  ),
  member('those who are kept take what is shared', 'this.terms.keep === true ? 0 : this.takes;', 'this.takes;'),
  member(
    'one awake replica is enough',
    "return this.engines.every((engine) => this.phases.get(engine)?.kind === 'awake');",
    'return this.anyAwake;',
  ),
];

export const PLACES: readonly Mutant[] = [
  place('the urgent come later', 'low: 1, normal: 0, high: -1', 'low: -1, normal: 0, high: 1'),
  place('newcomers join a closed batch', 'place.seq < this.#until && isBefore', 'isBefore'),
  place('those who were there are left out', 'return place.seq < this.#from || (', 'return place.seq < 0 || ('),
  candidates('nobody watches the patience of candidates', '    this.#watches.push({ at: dueAt, entry });\n', ''),
  candidates('who is no candidate any more stays one', '      if (before !== undefined) this.#remove(before);\n', ''),
  candidates(
    'candidates are in no order',
    'isBefore(other.first, sight.first)) low',
    'isBefore(sight.first, other.first)) low',
  ),
  candidates('a model that needs no room waits', 'if (candidate.cost === 0) this.#free.add(member);', ''),
  candidates(
    'candidates are taken before they are at rest',
    "member.part.kind === 'out' && member.atRest ?",
    "member.part.kind === 'out' ?",
  ),
];

export const SWAP: readonly Mutant[] = [
  swap('the drains of all are added', 'this.#legs = { drain };', 'this.#legs = { ...this.#legs, drain };'),
];
