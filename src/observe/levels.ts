/** What may be logged, by how much it matters. */
const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof LEVELS)[number];

/** What log lines are about. `output` is what the engines themselves print. */
const TARGETS = ['app', 'engine', 'swap', 'request', 'output'] as const;
export type Target = (typeof TARGETS)[number];

type Threshold = Level | 'off';
export type Thresholds = Readonly<Record<Target, Threshold>>;

/** Whether a line of this level and target is wanted. */
export function wanted(thresholds: Thresholds, target: Target, level: Level): boolean {
  const threshold = thresholds[target];
  return threshold !== 'off' && LEVELS.indexOf(level) <= LEVELS.indexOf(threshold);
}

export type LogSettings = {
  readonly format: 'human' | 'json';
  readonly colour: boolean;
  readonly thresholds: Thresholds;
};

/** What decides how the log looks: the environment, whether a person watches, and `-v`. */
export type LogCircumstances = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly tty: boolean;
  readonly verbose: boolean;
};

export type LogSettingsResult =
  | { readonly kind: 'settings'; readonly settings: LogSettings }
  | { readonly kind: 'problems'; readonly problems: readonly string[] };

/** Reads CATNAP_LOG, CATNAP_LOG_FORMAT and NO_COLOR; says everything that is wrong with them at once. */
export function readLogSettings({ env, tty, verbose }: LogCircumstances): LogSettingsResult {
  const problems: string[] = [];
  const thresholds = readThresholds(env['CATNAP_LOG'] ?? '', verbose, problems);
  const format = readFormat(env['CATNAP_LOG_FORMAT'] ?? '', tty, problems);
  if (problems.length > 0) return { kind: 'problems', problems };
  return { kind: 'settings', settings: { format, colour: tty && !env['NO_COLOR'], thresholds } };
}

function readFormat(value: string, tty: boolean, problems: string[]): 'human' | 'json' {
  switch (value) {
    case 'human':
    case 'json':
      return value;
    case '':
      return tty ? 'human' : 'json';
    default:
      problems.push(`CATNAP_LOG_FORMAT: "${value}" is not a format. Use human or json.`);
      return 'human';
  }
}

/** `info,engine=debug`: one level for all, and others by target. `-v` takes the place of the level for all. */
function readThresholds(value: string, verbose: boolean, problems: string[]): Thresholds {
  let all: Threshold = 'info';
  const own: Partial<Record<Target, Threshold>> = {};
  for (const part of value.split(',')) {
    const words = part.split('=').map((word) => word.trim());
    const [first = '', second] = words;
    if (first === '' && words.length === 1) continue;
    const target = second === undefined ? undefined : TARGETS.find((known) => known === first);
    const level = readThreshold(second ?? first);
    if (words.length > 2 || (second !== undefined && target === undefined)) {
      problems.push(
        `CATNAP_LOG: "${part.trim()}" names no target. Write target=level with one of ${TARGETS.join(', ')}.`,
      );
    } else if (level === undefined) {
      problems.push(`CATNAP_LOG: "${second ?? first}" is not a level. Use ${LEVELS.join(', ')} or off.`);
    } else if (target === undefined) {
      all = level;
    } else {
      own[target] = level;
    }
  }
  const rest = verbose ? 'debug' : all;
  return { app: rest, engine: rest, swap: rest, request: rest, output: rest, ...own };
}

function readThreshold(word: string): Threshold | undefined {
  return word === 'off' ? 'off' : LEVELS.find((level) => level === word);
}
