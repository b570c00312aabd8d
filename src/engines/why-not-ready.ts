import type { Child } from '../ports/process.ts';
import { DriverError } from './driver.ts';
import { inWords, SEARCHED, tellingLine, troubleIn } from './explain.ts';
import type { Readiness } from './readiness.ts';
import type { Family } from './family.ts';
import { reasonOf } from './wait.ts';

export type NotReady = Exclude<Readiness, { kind: 'ready' }>;

type Rules = {
  readonly family: Pick<Family, 'name' | 'remedy'>;
  readonly startupMs: number;
  readonly stallMs: number;
};

/** Why a start has come to nothing, for people. */
export async function whyNotReady(
  child: Child,
  readiness: NotReady,
  rules: Rules,
  signal: AbortSignal,
): Promise<Error> {
  if (readiness.kind === 'aborted') return reasonOf(signal);
  const { name } = rules.family;
  if (readiness.kind !== 'exited') return new DriverError(`${name} ${whyLate(child, readiness, rules)}`, 'too_late');
  const exit = await child.exited;
  const lines = child.tail(SEARCHED.start);
  const trouble = troubleIn(lines);
  const remedy = trouble && rules.family.remedy?.(trouble, lines);
  const how = inWords(exit, lines);
  return new DriverError(remedy === undefined ? `${name} ${how}` : `${name} ${how} (${remedy})`, trouble);
}

function whyLate(
  child: Child,
  readiness: Extract<Readiness, { kind: 'too-late' | 'stalled' }>,
  { stallMs, startupMs }: Rules,
): string {
  const said = tellingLine(child.tail(1));
  const heard = `${readiness.last}${said === undefined ? ', and it printed nothing' : `; its last line: ${said}`}`;
  return readiness.kind === 'stalled'
    ? `stalled while starting: it printed nothing for ${stallMs / 1000} s (startup_stall_secs); ${heard}`
    : `was not ready within ${startupMs / 1000} s (startup_timeout_secs); ${heard}`;
}
