import { of, type Mutant } from './mutant.ts';

const holdings = of('holdings.ts', { extras: true });
const moves = of('moves.ts', { extras: true });
const stage = of('stage.ts', { extras: true });

/** Guards of the host memory that sleepers may hold. */
export const HOST_MEMORY: readonly Mutant[] = [
  holdings('who does not fit sleeps there all the same', '<= left) ?? 5', '<= left + 99) ?? 5'),
  holdings(
    'nobody makes room in host memory',
    '    if (over <= 0) return;\n    const',
    '    if (over <= 99) return;\n    const',
  ),
  holdings('whoever was used last goes deeper first', 'quietSince(a) - quietSince(b)', 'quietSince(b) - quietSince(a)'),
  holdings('more go deeper than have to', '      if (over <= 0) return;\n    }', '    }'),
  holdings('they go where they hold as much', 'find((level) => !holdsHost(level))', 'at(0)'),
  holdings(
    'one that will be put deeper is forgotten',
    "part.kind === 'out' || part.kind === 'leaving'",
    "part.kind === 'out'",
  ),
  holdings(
    'an engine is where it was told to be',
    'goal !== undefined && isDeeper(wanted, phase.level)',
    'goal !== undefined',
  ),
  moves('what was measured is not counted', 'member.costs.held(phase.level, took.hostMib);', ''),
  stage('what is held is looked at when somebody goes alone', '      this.#turns.keepHostMemory(now);\n', ''),
];
