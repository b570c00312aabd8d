import type { ConfigInput } from '../../src/config/schema.ts';
import type { Settings } from '../fixtures/lab/settings.ts';
import { readAsk, wordsFor } from '../fixtures/lab/vllm-answers.ts';
import { chatBody } from '../helpers/catnap.ts';
import { test as base } from '../helpers/e2e.ts';
import { onForLong, passedOpen } from '../helpers/freeze-verdict.ts';
import { Lab } from '../helpers/lab.ts';
import { waitFor } from '../helpers/wait-for.ts';

const test = base.extend('lab', async ({ folder }) => new Lab(folder));

const configOf = (lab: Lab, alpha: Partial<Settings>, beta: Partial<Settings>): ConfigInput => ({
  ...lab.root,
  experimental: { freeze_drain: true },
  wait_comment_after_secs: 0.05,
  wait_comment_every_secs: 0.05,
  policy: { policy_type: 'slack', max_wait_secs: 0.1, serving_share: 0, sleep_level: 3 },
  models: {
    alpha: lab.vllm({ tokens: 40, tokenMs: 10, ...alpha }),
    beta: lab.vllm({ tokens: 20, ...beta }, { model_path: 'lab/other' }),
  },
});

const wordsOf = (body: string): string[] => [...body.matchAll(/"content":"([^"]+)"/g)].map(([, word = '']) => word);

test('a model that may makes room with its stream in flight, which stands still and goes on', async ({
  expect,
  folder,
  lab,
  start,
}) => {
  const [alphaFlow, betaFlow] = [lab.flow('alpha'), lab.flow('beta')];
  const config = configOf(lab, alphaFlow, betaFlow);
  await passedOpen({ model: 'alpha', level: '3f' }, config, lab, folder);
  const catnap = await start(config, { env: lab.env });
  expect(await catnap.told('warned')).toMatchObject([
    { msg: expect.stringContaining('beta: experimental.freeze_drain: no validation') },
  ]);
  // What it takes to put it away and to have it back is known then, and how long it works.
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect((await catnap.chat('beta')).status).toBe(200);
  const stream = await (await catnap.stream('alpha')).begun();
  await onForLong(catnap);
  const beta = await (await catnap.stream('beta')).begun();
  expect(await catnap.model('alpha')).toMatchObject({ suspended_requests: 1 });
  await waitFor('its client to be told', () => /^: catnap: alpha is suspended/m.test(stream.body));
  const before = wordsOf(stream.body).length;
  betaFlow.end();
  expect(await beta.closed).toBe('whole');
  expect(await catnap.fact('requests-thawed')).toMatchObject({ model: 'alpha', count: 1 });
  await waitFor('it to go on', () => wordsOf(stream.body).length > before);
  alphaFlow.end();
  expect(await stream.closed).toBe('whole');
  const words = wordsOf(stream.body);
  expect(words).toEqual(words.map((_, at) => wordAt(at)));
  expect(await catnap.told('requests-frozen')).toMatchObject([{ model: 'alpha', count: 1, frozenAt: 3, for: 'beta' }]);
});

/** What alpha says at this place of its answer, if nothing of it is lost or said twice. */
function wordAt(at: number): string {
  const asked = readAsk(chatBody('alpha'));
  if (asked === undefined) throw new Error('a chat is a question');
  return wordsFor('lab/model', asked, at, true);
}
