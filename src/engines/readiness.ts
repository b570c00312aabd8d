import { after, FOREVER, unreachable, type Millis } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineAnswer } from '../ports/engine-http.ts';
import type { Child } from '../ports/process.ts';
import { pause } from './wait.ts';

/** Asks the engine once; must answer within the limit, and at once when the signal fires. */
type Probe = (limitMs: number, signal: AbortSignal) => Promise<EngineAnswer>;

export type ReadinessRules = {
  readonly deadline: Millis;
  /** Without new output for this long the start has failed; 0: no such rule. */
  readonly stallMs: number;
  /** How long one probe may take; one that takes longer counts as failed. */
  readonly probeMs: number;
};

export type Readiness =
  | { readonly kind: 'ready'; readonly firstAnswerAt: Millis; readonly at: Millis }
  | { readonly kind: 'exited' }
  /** `last` is what the last probe found, for the message. */
  | { readonly kind: 'too-late'; readonly last: string }
  | { readonly kind: 'stalled'; readonly last: string }
  | { readonly kind: 'aborted' };

type Watched = Pick<Child, 'exited' | 'hasExited' | 'printed'>;

/** Probes come this close together while a start is young, since most small models are ready within it. */
const EAGER_MS = 10;
const PATIENT_MS = 25;
const EAGER_FOR_MS = 5_000;

/** Probes a fresh process until it is ready, has ended, is late, has fallen silent, or is no longer wanted. */
export async function untilReady(
  child: Watched,
  probe: Probe,
  isReady: (answer: EngineAnswer) => boolean,
  rules: ReadinessRules,
  clock: Clock,
  signal: AbortSignal,
): Promise<Readiness> {
  const over = new AbortController();
  const end = (): void => over.abort();
  signal.addEventListener('abort', end, { once: true });
  void child.exited.then(end);
  const from = clock.now();
  const output = silence(child, from, rules.stallMs);
  const isOver = (): boolean => child.hasExited || over.signal.aborted;
  let firstAnswerAt: Millis | undefined;
  let last = 'nothing was heard from it';
  try {
    for (;;) {
      if (signal.aborted) return { kind: 'aborted' };
      if (isOver()) return { kind: 'exited' };
      const asked = clock.now();
      if (asked >= rules.deadline) return { kind: 'too-late', last };
      if (asked >= output.silentAt(asked)) return { kind: 'stalled', last };
      const limitMs = Math.min(rules.probeMs, rules.deadline - asked);
      const answer = await probe(limitMs, over.signal);
      const at = clock.now();
      if (answer.kind === 'answered') firstAnswerAt ??= at;
      if (isReady(answer) && !isOver()) return { kind: 'ready', firstAnswerAt: firstAnswerAt ?? at, at };
      last = inWords(answer);
      await pause(clock, nextIn(from, asked, at), over.signal);
    }
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** When the process will have been silent for too long; any output puts it off. */
function silence(child: Watched, from: Millis, stallMs: number): { silentAt(now: Millis): Millis } {
  let printed = child.printed;
  let heardAt = from;
  return {
    silentAt(now) {
      if (child.printed !== printed) {
        printed = child.printed;
        heardAt = now;
      }
      return stallMs === 0 ? FOREVER : after(heardAt, stallMs);
    },
  };
}

/** The pause that keeps probes evenly apart, counted from when the last one was sent. */
function nextIn(from: Millis, asked: Millis, now: Millis): number {
  const apart = now - from < EAGER_FOR_MS ? EAGER_MS : PATIENT_MS;
  return Math.max(1, apart - (now - asked));
}

function inWords(answer: EngineAnswer): string {
  switch (answer.kind) {
    case 'answered':
      return `it last answered ${answer.status}`;
    case 'refused':
      return 'it took no connection';
    case 'timeout':
      return 'it took the connection and did not answer';
    default:
      return unreachable(answer);
  }
}
