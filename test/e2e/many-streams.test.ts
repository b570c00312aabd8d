import { test } from '../helpers/e2e.ts';
import type { EventStream } from '../helpers/event-stream.ts';

const STREAMS = 100;
const COUNTS = { alpha: 60, beta: 70 };

type Name = keyof typeof COUNTS;

const numbers = (to: number): string => Array.from({ length: to }, (_, at) => ` ${at + 1}`).join('');

/** What is wrong with a stream that has ended; comments are no part of what the model says. */
function wrongWith(stream: EventStream, name: Name, ended: string): string[] {
  const { status, said, body } = stream;
  const ok = status === 200 && ended === 'whole' && body.endsWith('data: [DONE]\n\n') && said === numbers(COUNTS[name]);
  return ok ? [] : [`${name}: ${status} ${ended} ${body.slice(-500)}`];
}

test(
  '200 streams lose no byte when their models are swapped under them',
  { timeout: 120_000 },
  async ({ expect, start, llama }) => {
    const catnap = await start({
      models: { alpha: await llama.counts(COUNTS.alpha), beta: await llama.counts(COUNTS.beta) },
      policy: { request_timeout_secs: 100 },
      wait_comment_after_secs: 0.2,
      wait_comment_every_secs: 0.2,
    });
    await catnap.chat('alpha', { max_tokens: 1 });
    const names = Array.from({ length: 2 * STREAMS }, (_, at): Name => (at % 2 === 0 ? 'alpha' : 'beta'));
    const wrong = await Promise.all(
      names.map(async (name) => {
        const stream = await catnap.stream(name);
        return { wrong: wrongWith(stream, name, await stream.closed), waited: stream.body.startsWith(': catnap') };
      }),
    );
    expect(wrong.flatMap((each) => each.wrong)).toEqual([]);
    // Those who waited for the swap were told so.
    expect(wrong.filter(({ waited }) => waited).length).toBeGreaterThanOrEqual(STREAMS / 2);
    expect((await catnap.told('swap-finished', { result: 'done' })).length).toBeGreaterThanOrEqual(2);
    await catnap.fact('request-ended', { outcome: 'served' }, 2 * STREAMS + 1);
  },
);
