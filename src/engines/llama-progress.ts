import type { Clock } from '../ports/clock.ts';
import { LONGEST_QUESTION_MS, type Question } from './sign-of-life.ts';
import { pause } from './wait.ts';

const LOOK_MS = 500;

/**
 * Whether the server finishes a batch while we look. It counts its batches, and goes on telling the count when the loop that works them hangs;
 * a long prompt with every slot busy keeps a new request waiting, but not the count from growing.
 */
export async function finishesBatches(question: Question, clock: Clock): Promise<boolean> {
  let before: string | undefined;
  while (!question.signal.aborted) {
    const count = await batchesDone(question);
    if (before !== undefined && count !== undefined && count !== before) return true;
    before ??= count;
    await pause(clock, LOOK_MS, question.signal);
  }
  return false;
}

async function batchesDone({ http, origin, headers, signal }: Question): Promise<string | undefined> {
  const url = `${origin}/metrics`;
  const answer = await http.call({ method: 'GET', url, headers, limitMs: LONGEST_QUESTION_MS, signal });
  if (answer.kind !== 'answered') return undefined;
  return /^llamacpp:n_decode_total (\S+)/m.exec(answer.body)?.[1];
}
