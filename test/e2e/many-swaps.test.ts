import { JSON_BODY, chatBody, type Catnap } from '../helpers/catnap.ts';
import { test } from '../helpers/e2e.ts';
import { textOf } from '../helpers/event-stream.ts';
import { Metrics } from '../helpers/metrics.ts';

const CLIENTS = 16;
const SWAPS = 200;
/** How far each model counts: what was meant for the other would show. */
const COUNTS = { alpha: 12, beta: 17 };

const numbers = (to: number): string => Array.from({ length: to }, (_, at) => ` ${at + 1}`).join('');

/** Asks for one model and then the other until there were enough swaps; gives every answer that is not exactly as it must be. */
async function client(catnap: Catnap, first: number): Promise<{ asked: number; wrong: string[] }> {
  const names = ['alpha', 'beta'] as const;
  const wrong: string[] = [];
  let asked = 0;
  while (catnap.facts('swap-finished').length < SWAPS) {
    const name = names[(first + asked) % 2] ?? 'alpha';
    const body = chatBody(name, { stream: true });
    asked += 1;
    const { status, text, whole } = await catnap.ask('/v1/chat/completions', { headers: JSON_BODY, body });
    const ok = status === 200 && whole && text.endsWith('data: [DONE]\n\n') && textOf(text) === numbers(COUNTS[name]);
    if (!ok) wrong.push(`${name}: ${status} ${whole ? 'whole' : 'cut'} ${text}`);
  }
  return { asked, wrong };
}

test(
  'no token is lost or doubled in 200 swaps under 16 clients of both models',
  { timeout: 240_000 },
  async ({ expect, start, llama }) => {
    const catnap = await start({
      models: { alpha: await llama.counts(COUNTS.alpha), beta: await llama.counts(COUNTS.beta) },
    });
    const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(catnap, at)));
    expect(clients.flatMap(({ wrong }) => wrong)).toEqual([]);

    const swaps = catnap.facts('swap-finished');
    expect(swaps.length).toBeGreaterThanOrEqual(SWAPS);
    expect(new Set(swaps.map(({ result }) => result))).toEqual(new Set(['done']));
    const metrics = new Metrics((await catnap.get('/metrics')).text);
    const asked = clients.reduce((sum, client) => sum + client.asked, 0);
    expect(metrics.value('catnap_requests_total')).toBe(asked);
    expect(metrics.value('catnap_requests_total', { outcome: 'served' })).toBe(asked);
    expect(metrics.value('catnap_engine_failures_total') ?? 0).toBe(0);
  },
);
