import { of, type Mutant } from './mutant.ts';

const lane = of('lane.ts');
const member = of('member.ts');
const swap = of('swap.ts');

export const LANE: readonly Mutant[] = [
  lane('patience runs while the model is on its way', 'this.#pausedAt ??= now;', ''),
  lane('patience stands still for ever', '    this.#pausedAt = undefined;\n  }', '  }'),
  lane('the pause is not counted', 'this.#behind += now - this.#pausedAt;', ''),
  lane('who has left stays in line', 'this.#waiting.splice(at, 1);', ''),
  lane('the last moment of patience is not the end of it', '<= until;', '< until;'),
  lane('a lane has no end', 'return this.#waiting.length >= this.#limit;', 'return false;'),
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
    "return this.atRest && (goal.kind !== 'off' || this.gone);",
    'return this.atRest;',
  ),
  member(
    'what is not at rest takes no room',
    "(kind !== 'out' && kind !== 'summoned') || !this.atRest;",
    "kind !== 'out' && kind !== 'summoned';",
  ),
  member(
    'a model that is not at rest may be summoned',
    "part.kind === 'out' && !this.atRest ? 'leaving' : part.kind",
    'part.kind',
  ),
  member(
    'a pause that is over still counts',
    "phase.kind !== 'failed' || phase.retryAt <= now ||",
    "phase.kind !== 'failed' ||",
  ),
  member(
    'one awake replica is enough',
    "  get awake(): boolean {\n    return this.#every((phase) => phase.kind === 'awake');",
    '  get awake(): boolean {\n    return this.anyAwake;',
  ),
];

export const SWAP: readonly Mutant[] = [
  swap(
    'a command counts from before the swap',
    'const proofMs = Math.min(took.proofMs, left);\n    return { proofMs, actMs: this.#stumbled ? left - proofMs : Math.min(took.actMs, left - proofMs) };',
    'return left >= 0 ? took : took;',
  ),
  swap('the drains of all are added', 'this.#legs = { drain };', 'this.#legs = { ...this.#legs, drain };'),
];
