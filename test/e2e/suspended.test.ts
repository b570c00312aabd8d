import type { ConfigInput } from '../../src/config/schema.ts';
import { test as base } from '../helpers/e2e.ts';
import { passedOpen } from '../helpers/freeze-verdict.ts';
import { Lab } from '../helpers/lab.ts';
import { waitFor } from '../helpers/wait-for.ts';

const test = base.extend('lab', async ({ folder }) => new Lab(folder));

const TOKENS = 300;
/** So many times as long as a swap a model has to be on before it may be suspended, and more. */
const LONG_ENOUGH = 3;

const config = (lab: Lab): ConfigInput => ({
  ...lab.root,
  experimental: { freeze_drain: true },
  wait_comment_after_secs: 0.05,
  wait_comment_every_secs: 0.05,
  policy: { policy_type: 'slack', max_wait_secs: 0.1, serving_share: 0, sleep_level: 3 },
  models: {
    alpha: lab.vllm({ tokens: TOKENS, tokenMs: 10 }),
    beta: lab.vllm({ tokens: 20 }, { model_path: 'lab/other' }),
  },
});

const wordsOf = (body: string): string[] => [...body.matchAll(/"content":"([^"]+)"/g)].map(([, word = '']) => word);

test('a model that may makes room with its stream in flight, which stands still and goes on', async ({
  expect,
  folder,
  lab,
  start,
}) => {
  await passedOpen({ model: 'alpha', level: '3f' }, config(lab), lab, folder);
  const catnap = await start(config(lab), { env: lab.env });
  expect(catnap.facts('warned')).toMatchObject([
    { msg: expect.stringContaining('beta: experimental.freeze_drain: no validation') },
  ]);
  // What it takes to put it away and to have it back is known then, and how long it works.
  const short = await catnap.stream('alpha', { max_tokens: 40 });
  await short.closed;
  await catnap.chat('beta');
  const stream = await catnap.stream('alpha', { max_tokens: TOKENS });
  await stream.begun();
  const from = performance.now();
  const swapMs = Number((await catnap.fact('swap-finished', { to: 'alpha' }, 2))['totalMs']);
  await waitFor('it to have been on for a while', () => performance.now() - from > LONG_ENOUGH * swapMs);
  const beta = catnap.chat('beta');
  await waitFor('the stream to be suspended', async () => (await catnap.model('alpha')).suspended_requests === 1);
  await waitFor('its client to be told', () => /^: catnap: alpha is suspended/m.test(stream.body));
  expect((await beta).status).toBe(200);
  expect(await stream.closed).toBe('whole');
  const words = wordsOf(stream.body);
  expect([words.length, words.slice(0, 40)]).toEqual([TOKENS, wordsOf(short.body)]);
  expect(catnap.facts('requests-frozen')).toMatchObject([{ model: 'alpha', count: 1, frozenAt: 3, for: 'beta' }]);
  expect(catnap.facts('requests-thawed')).toHaveLength(1);
});
