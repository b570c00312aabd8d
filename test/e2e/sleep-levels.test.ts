import { z } from 'zod';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { Catnap } from '../helpers/catnap.ts';
import { test as base } from '../helpers/e2e.ts';
import { Lab } from '../helpers/lab.ts';
import { Metrics } from '../helpers/metrics.ts';

const test = base.extend('lab', async ({ folder }) => new Lab(folder));

const Answer = z.object({ choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]) });

async function says(catnap: Catnap, model: string): Promise<string> {
  const { status, text } = await catnap.chat(model);
  return status === 200 ? Answer.parse(JSON.parse(text)).choices[0].message.content : `${status} ${text}`;
}

/** Alpha, which sleeps at level 1, and beta, which needs its room. */
const two = (lab: Lab): ConfigInput => ({
  ...lab.root,
  sleep_timeout_secs: 20,
  wake_timeout_secs: 20,
  models: { alpha: lab.vllm({}, { sleep_level: 1 }), beta: lab.vllm({}, { model_path: 'lab/other' }) },
});

/** What of alpha is in memory: MiB on the GPU and in the host. */
const held = (lab: Lab): readonly (readonly [number, number])[] =>
  lab.ledger.holders().flatMap(({ model, mib, hostMib }) => (model === 'alpha' ? [[mib, hostMib] as const] : []));

test('models at their levels make room for each other and come back as they were', async ({ expect, start, lab }) => {
  const catnap = await start(two(lab), { env: lab.env });
  const before = await says(catnap, 'alpha');
  expect(before).toMatch(/^\w/);
  const { pid } = await catnap.engine('alpha');
  await says(catnap, 'beta');
  expect(held(lab)).toEqual([[700, 6_000]]);
  expect((await catnap.model('alpha')).engines).toMatchObject([{ pid }]);
  expect(await says(catnap, 'alpha')).toBe(before);
  expect((await catnap.engine('alpha')).pid).toBe(pid);
  expect((await catnap.told('swap-finished', { to: 'alpha' })).at(-1)).toMatchObject({ wokenFrom: 1, result: 'done' });
  expect(lab.ledger.events('refused')).toEqual([]);
});

test('a start that runs out of memory is tried once more when a sleeper has gone deeper', async ({
  expect,
  start,
  lab,
}) => {
  const { models, ...root } = two(lab);
  const large = { kvMib: 16_800 };
  const tooLarge = { kvMib: 20_000 };
  const catnap = await start(
    {
      ...root,
      restart: { first_delay_secs: 0.05 },
      models: {
        ...models,
        large: lab.vllm(large, { model_path: 'lab/large', levels_allowed: [3, 5] }),
        huge: lab.vllm(tooLarge, { model_path: 'lab/huge', levels_allowed: [3, 5] }),
      },
    },
    { env: lab.env },
  );
  await says(catnap, 'alpha');
  // It fits, but not beside what alpha keeps in its sleep.
  expect(await says(catnap, 'large')).toMatch(/^\w/);
  expect(held(lab)).toEqual([]);
  const [short] = await catnap.told('start-short-of-memory', { model: 'large' });
  expect(short).toMatchObject({ from: ['alpha'], reason: expect.stringContaining('out of memory') });
  expect(await catnap.told('swap-finished', { to: 'large' })).toMatchObject([{ result: 'done' }]);
  // Nobody could make room for this one: it is told as it is, after one try.
  expect(await says(catnap, 'huge')).toMatch(/^503 .*there is not enough memory for it/);
  const metrics = new Metrics((await catnap.get('/metrics')).text);
  expect(metrics.value('catnap_starts_short_of_memory_total', { model: 'large' })).toBe(1);
  expect(metrics.value('catnap_engine_failures_total', { model: 'huge', phase: 'starting' })).toBe(1);
});
