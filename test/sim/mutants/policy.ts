import { of, type Mutant } from './mutant.ts';

const cast = of('cast.ts');
const fifo = of('policy/fifo.ts');

export const POLICY: readonly Mutant[] = [
  fifo(
    'the youngest is next',
    '(a.oldest?.seq ?? 0) - (b.oldest?.seq ?? 0)',
    '(b.oldest?.seq ?? 0) - (a.oldest?.seq ?? 0)',
  ),
  fifo('min_active_secs is ignored', 'if (sight.now < earliest)', 'if (sight.now < 0)'),
  fifo(
    'who is cut has served nobody',
    'const unserved = !drains && served === 0 && inFlight > 0;',
    'const unserved = false && drains && served === 0 && inFlight > 0 && drainMs > 0;',
  ),
  fifo(
    'a model that needs no room waits',
    'const free = queue.find(({ cost }) => cost === 0);',
    'const free = queue.find(({ cost }) => cost < 0);',
  ),
  fifo('those who have had no turn are summoned', "part === 'out' && oldest !== undefined", "part === 'out'"),
  cast('the summoned are promised nothing', " || part === 'summoned') room -= cost;", ') room -= cost;'),
  cast(
    'those who are coming are promised nothing',
    " || part === 'entering' || part === 'summoned') room",
    " || part === 'summoned') room",
  ),
  cast(
    'those who drain are sent off again',
    "part === 'on' && cost > 0)",
    "(part === 'on' || part === 'draining') && cost > 0)",
  ),
  fifo(
    'a swap under way holds up the others',
    'if (room === undefined) return stay;',
    "if (room === undefined || sight.models.some(({ part }) => part === 'summoned')) return stay;",
  ),
];
