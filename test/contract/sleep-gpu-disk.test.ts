import { existsSync, readdirSync } from 'node:fs';
import { describe } from 'vitest';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { Driver } from '../../src/engines/driver.ts';
import { requireCriu } from '../helpers/criu.ts';
import { Lab, TWO_GPUS } from '../helpers/lab.ts';
import { order, test as base, type Engines } from './engines.ts';

/** vLLM and a GPU that are not there, and the real criu. */
const test = base.extend<{ lab: Lab }>({
  lab: async ({ engines, skip }, use) => {
    const lab = new Lab(engines.folder, [24_000, 24_000]);
    lab.useCriu(await requireCriu({ skip }));
    await use(lab);
  },
});

async function says(driver: Driver): Promise<string> {
  const body = JSON.stringify({ model: 'alpha', prompt: 'What is a cat?', max_tokens: 6, temperature: 0 });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${driver.backend?.origin}/v1/completions`, { method: 'POST', headers, body });
  return `${answer.status} ${JSON.parse(await answer.text())?.choices?.[0]?.text}`;
}

async function awake(engines: Engines, lab: Lab, more: Partial<NonNullable<ConfigInput['checkpoint']>> = {}) {
  const { checkpoint, ...root } = lab.root;
  const engine = engines.make(lab.vllm(), { ...root, checkpoint: { ...checkpoint, ...more } });
  await engine.driver.start(order(1).order);
  return engine;
}

/** What was done to the GPU and by criu, without the numbers of processes. */
const steps = (lab: Lab): string[] =>
  lab.ledger
    .events()
    .filter(({ what }) => what === 'cuda' || what === 'criu')
    .map(({ detail }) => detail.split(' ')[0] ?? '');
const used = (lab: Lab): number => lab.ledger.usedMib('GPU-lab-0') + lab.ledger.usedMib('GPU-lab-1');
const images = (lab: Lab): string[] => {
  const folder = lab.root.checkpoint?.images_dir ?? '';
  return existsSync(folder) ? readdirSync(folder) : [];
};
const failure = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: Error) => error.message,
  );

describe('vLLM on disk', () => {
  test('asleep at level 2, off the GPU, written to disk; and back the other way', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab);
    const [before, pid] = [await says(driver), driver.running?.pid];
    await driver.sleep(4, order(2).order);
    expect([used(lab), await driver.members(), images(lab).length]).toEqual([0, [], 1]);
    await driver.wake(4, order(3).order);
    expect([await says(driver), driver.running?.pid, images(lab), used(lab)]).toEqual([before, pid, [], 14_700]);
    expect(steps(lab)).toEqual(['lock', 'checkpoint', 'dump', 'restore', 'restore', 'unlock']);
    const calls = lab.ledger.events('called').map(({ detail }) => detail.split(' ').slice(0, 2).join(' '));
    expect(calls.filter((call) => call.startsWith('POST'))).toEqual([
      'POST /sleep?level=2&mode=wait',
      'POST /wake_up?tags=weights',
      'POST /collective_rpc',
      'POST /wake_up?tags=kv_cache',
      'POST /reset_prefix_cache',
    ]);
  });

  test('one that has come back, with a clock of its own, takes no sleeper for gone', async ({
    engines,
    lab,
    expect,
  }) => {
    const one = await awake(engines, lab);
    await one.driver.sleep(4, order(2).order);
    const two = await awake(engines, lab);
    const before = await says(two.driver);
    await two.driver.sleep(3, order(2).order);
    await one.driver.wake(4, order(3).order);
    expect(
      lab.ledger
        .holders()
        .map(({ state }) => state)
        .toSorted(),
    ).toEqual(['checkpointed', 'running']);
    await one.driver.sleep(1, order(4).order);
    await two.driver.wake(3, order(3).order);
    expect(await says(two.driver)).toBe(before);
  });

  test('the plugin of criu may empty the GPU; what it could not bring back is noticed', async ({
    engines,
    lab,
    expect,
  }) => {
    const plugin = { cuda_driver: 'plugin' as const, cuda_plugin_dir: lab.plugin() };
    const { driver } = await awake(engines, lab, plugin);
    const before = await says(driver);
    await driver.sleep(4, order(2).order);
    expect(used(lab)).toBe(0);
    await driver.wake(4, order(3).order);
    expect(await says(driver)).toBe(before);
    expect(steps(lab)).toEqual(['dump', 'restore']);
    lab.ledger.plan({ point: 'criu.restore', kind: 'plugin' });
    await driver.sleep(4, order(4).order);
    expect(await failure(driver.wake(4, order(5).order))).toMatch(/should be running and is checkpointed/);
    await driver.stop(order(6).order);
    expect([used(lab), images(lab)]).toEqual([0, []]);
  });

  test('an order that is withdrawn ends cuda-checkpoint and criu with it', async ({ engines, lab, expect }) => {
    for (const point of ['cuda.checkpoint', 'criu.restore']) {
      const { driver } = await awake(engines, lab);
      lab.ledger.plan({ point, kind: 'hang' });
      const [sleep, wake] = [order(2), order(3)];
      const end = failure(driver.sleep(4, sleep.order).then(() => driver.wake(4, wake.order)));
      const began = () => lab.ledger.events('fault').filter(({ detail }) => detail === `${point}: hang`).length === 1;
      await expect.poll(began, { timeout: 30_000 }).toBe(true);
      sleep.withdraw();
      wake.withdraw();
      expect([point, await end]).toEqual([point, 'the order was withdrawn']);
      await driver.stop(order(4).order);
      expect([point, used(lab), images(lab), await driver.members()]).toEqual([point, 0, [], []]);
    }
  });

  test('processes on several GPUs are parted first, all are locked before any is frozen, and joined at last', async ({
    engines,
    lab,
    expect,
  }) => {
    const flags = ['--tensor-parallel-size', '2', '--enforce-eager', '--disable-custom-all-reduce'];
    const plain = engines.make(lab.vllm({}, { extra_args: flags.slice(0, 2) }), lab.root);
    await plain.driver.start(order(1).order);
    expect(await failure(plain.driver.sleep(4, order(2).order))).toMatch(/needs --enforce-eager and --disable/);
    expect([steps(lab), images(lab)]).toEqual([[], []]);
    await plain.driver.stop(order(3).order);

    const { driver } = engines.make(lab.vllm({}, { extra_args: flags }), lab.root);
    await driver.start(order(1).order);
    const before = await says(driver);
    await driver.sleep(4, order(2).order);
    expect([used(lab), images(lab).length]).toEqual([0, 1]);
    await driver.wake(4, order(3).order);
    expect([await says(driver), lab.ledger.holders().every(({ joined, broken }) => joined && !broken)]).toEqual([
      before,
      true,
    ]);
    const twice = (step: string) => [step, step];
    expect(steps(lab)).toEqual([
      ...['lock', 'checkpoint'].flatMap(twice),
      ...['dump', 'restore'],
      ...['restore', 'unlock'].flatMap(twice),
    ]);
  });

  test('those that nobody has told of are not frozen as they are, whoever would do it', async ({
    engines,
    lab,
    expect,
  }) => {
    for (const more of [{}, { cuda_driver: 'plugin' as const, cuda_plugin_dir: lab.plugin() }]) {
      const checkpoint = { ...lab.root.checkpoint, ...more };
      const filed = lab.vllm({}, { extra_args: ['--config', TWO_GPUS] });
      const { driver } = engines.make(filed, { ...lab.root, checkpoint });
      await driver.start(order(1).order);
      expect(await failure(driver.sleep(4, order(2).order))).toMatch(/in 2 processes on 2 GPUs/);
      expect([steps(lab).includes('checkpoint'), steps(lab).includes('dump'), images(lab)]).toEqual([false, false, []]);
      await driver.stop(order(3).order);
    }
  });
});
