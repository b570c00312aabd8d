import type { Diagnosis, LevelFinding } from './diagnose.ts';

const MARKS = { good: 'ok', note: '--', bad: 'BAD' } as const;
const LEVEL_WORDS = { tried: 'works (validated)', possible: 'can work', impossible: 'cannot work' } as const;

/** What was found, for people. */
export function diagnosisText({ findings, models, well }: Diagnosis): string {
  const width = Math.max(...findings.map(({ what }) => what.length)) + 2;
  const lines = findings.map(({ what, state, says }) => `${MARKS[state].padEnd(5)}${what.padEnd(width)}${says}`);
  for (const { model, backend, levels } of models) lines.push('', `${model} (${backend})`, ...levels.map(levelLine));
  const bad = 'Something that the config asks for cannot work here; see BAD and the levels with an arrow.';
  const good =
    models.length === 0
      ? 'Nothing stands in the way. With a config, its models would be told of too.'
      : 'All that the config asks for can work here.';
  const end = well ? good : bad;
  return `${[...lines, '', end].join('\n')}\n`;
}

function levelLine({ level, state, wanted, missing }: LevelFinding): string {
  const why = missing.length === 0 ? '' : `: ${missing.join('; ')}`;
  return `  ${wanted ? '->' : '  '} level ${String(level).padEnd(7)}${LEVEL_WORDS[state]}${why}`;
}
