import { z } from 'zod';
import type { Catnap } from '../helpers/catnap.ts';
import { test as base } from '../helpers/e2e.ts';
import { Lab } from '../helpers/lab.ts';

const test = base.extend('lab', async ({ folder }) => new Lab(folder));

const Answer = z.object({ choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]) });

async function says(catnap: Catnap, model: string): Promise<string> {
  const { status, text } = await catnap.chat(model);
  return status === 200 ? Answer.parse(JSON.parse(text)).choices[0].message.content : `${status} ${text}`;
}

test('SGLang, TabbyAPI and vLLM make room for each other, each by its own calls, and keep their processes', async ({
  expect,
  start,
  lab,
}) => {
  const models = {
    sg: lab.sglang({}, { sleep_level: 1, api_key: 'sk-sg' }),
    tab: lab.tabby({}, { sleep_level: 2 }),
    vl: lab.vllm({}, { sleep_level: 1 }),
  };
  const catnap = await start({ ...lab.root, models }, { env: lab.env });
  const names = ['sg', 'tab', 'vl'];
  const first: Record<string, unknown> = {};
  for (const model of names) first[model] = [await says(catnap, model), (await catnap.engine(model)).pid];
  for (const model of names) {
    const again = [await says(catnap, model), (await catnap.engine(model)).pid];
    expect([model, again]).toEqual([model, first[model]]);
    expect(again[0]).toMatch(/^\w/);
  }
  const woken = (await catnap.told('swap-finished')).map(({ to, wokenFrom, result }) => [to, wokenFrom, result]);
  expect(woken.slice(-3)).toEqual([
    ['sg', 1, 'done'],
    ['tab', 2, 'done'],
    ['vl', 1, 'done'],
  ]);
  expect(lab.ledger.events('refused')).toEqual([]);
  const log = JSON.stringify(await catnap.model('sg'));
  expect(log).not.toContain('sk-sg');
});

test('a llama-server that has put itself to sleep is shown as dozing, counts as awake, and answers', async ({
  expect,
  start,
  llama,
}) => {
  const catnap = await start({ models: { alpha: { ...(await llama.says('I am alpha.')), sleep_idle_secs: 1 } } });
  expect(await says(catnap, 'alpha')).toBe('I am alpha.');
  const { pid } = await catnap.engine('alpha');
  await expect.poll(async () => (await catnap.model('alpha')).engines).toMatchObject([{ dozes: true, phase: 'awake' }]);
  expect(await says(catnap, 'alpha')).toBe('I am alpha.');
  expect((await catnap.engine('alpha')).pid).toBe(pid);
});
