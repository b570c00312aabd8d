import { of, type Mutant } from './mutant.ts';

const cast = of('cast.ts');
const commons = of('commons.ts');
const leavers = of('leavers.ts');
const fifo = of('policy/fifo.ts');
const leaving = of('policy/leaving.ts');
const slack = of('policy/slack.ts', { policy: 'slack' });
const contenders = of('policy/leaving.ts', { policy: 'cost_aware' });
const costAware = of('policy/cost-aware.ts', { policy: 'cost_aware' });
const timeSlice = of('policy/time-slice.ts', { policy: 'time_slice' });

export const POLICY: readonly Mutant[] = [
  fifo('the youngest is next', 'const [next] = sight.candidates;', 'const next = sight.candidates.at(-1);'),
  fifo('min_active_secs is ignored', 'if (sight.now < earliest)', 'if (sight.now < 0)'),
  leaving(
    'who is cut has served nobody',
    'const unserved = !drains && served === 0 && inFlight > 0;',
    'const unserved = false && drains && served === 0 && inFlight > 0 && drainMs > 0;',
  ),
  cast('the summoned are promised nothing', " || part === 'summoned') room -= cost;", ') room -= cost;'),
  cast(
    'those who are coming are promised nothing',
    " || part === 'entering' || part === 'summoned') room",
    " || part === 'summoned') room",
  ),
  leavers(
    'those who drain are sent off again',
    "part === 'on' && cost > 0)",
    "(part === 'on' || part === 'draining') && cost > 0)",
  ),
  leavers('too few are sent off', 'if (left <= 0) {', 'if (left <= 1) {'),
  cast('what is set aside is shared', 'const shared = capacity - aside;', 'const shared = capacity + 0 * aside;'),
  cast(
    'room is set aside for some of its engines',
    'costEach === undefined ? cost : costEach * engines.length',
    'engines.length === 0 ? costEach ?? 0 : cost',
  ),
  commons('loads have no bound', 'this.#mostLoads - this.#loading.size', 'Number.POSITIVE_INFINITY'),
  commons('who loads is not counted', '    this.#loading.add(model);\n', ''),
  commons('a load is never over', '(this.#loading.delete(model) || stood)', '(this.#loading.has(model) || stood)'),
  commons('nobody hears that a load is over', ' && this.#line.length > 0;', ' && this.#line.length > 1_000;'),
  fifo(
    'a swap under way holds up the others',
    'if (leavers === undefined) return stay;',
    "if (leavers === undefined || sight.cast.some(({ part }) => part === 'summoned')) return stay;",
  ),
  slack('slack forgets that time runs out', "{ kind: 'look-again', at: latestStart }", 'stay'),
  slack('slack cuts into a turn', '        mayLeaveAt(leaversOfFirst, sight),\n', ''),
  slack(
    'slack lets others pass whoever is late',
    'late ? { to: first, leavers: leaversOfFirst } : worthMost(sight)',
    'worthMost(sight) ?? { to: first, leavers: leaversOfFirst }',
  ),
  slack('slack lets in whoever fits before whoever is late', 'late || room <= 0', 'room <= 0'),
  slack(
    'slack lets one have two turns before another has one',
    'if (awaySince(candidate) < awaySince(longest))',
    'if (candidate.first.rank < longest.first.rank)',
  ),
  contenders(
    'others pass whoever has waited for too long',
    '<= now ? [first] : candidates',
    '<= now ? candidates : candidates',
  ),
  costAware('cost_aware forgets to look again', "{ kind: 'look-again', at: next };", 'stay;'),
  costAware('cost_aware cuts into a turn', 'latest([mayLeaveAt(leavers, sight), ', 'latest(['),
  timeSlice('time_slice forgets to look again', "{ kind: 'look-again', at: next };", 'stay;'),
  timeSlice('time_slice cuts into a turn', 'latest([mayLeaveAt(leavers, sight), ', 'latest(['),
  timeSlice(
    'a lonely request starves beside steady load',
    "const turns = [turnOf(oldest, sight, terms, 'when-late')];",
    'const turns: ReturnType<typeof turnOf>[] = [];',
  ),
];
