import { describe } from 'vitest';
import type { ConfigInput, ModelInput } from '../../src/config/schema.ts';
import type { Driver } from '../../src/engines/driver.ts';
import type { Settings } from '../fixtures/lab/settings.ts';
import { Lab, TWO_GPUS } from '../helpers/lab.ts';
import { order, test as base, type Engines } from './engines.ts';

const test = base.extend<{ lab: Lab }>({
  lab: async ({ engines }, use) => {
    const lab = new Lab(engines.folder, [24_000, 24_000]);
    await use(lab);
  },
});

/** Workers have room for one extension. */
const OTHER_EXTENSION = ['--worker-extension-cls', 'somebody.Elses'];
const TP2 = { extra_args: ['--tensor-parallel-size', '2', '--enforce-eager', '--disable-custom-all-reduce'] };

async function says(driver: Driver): Promise<string> {
  const body = JSON.stringify({ model: 'alpha', prompt: 'What is a cat?', max_tokens: 6, temperature: 0 });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${driver.backend?.origin}/v1/completions`, { method: 'POST', headers, body });
  return `${answer.status} ${JSON.parse(await answer.text())?.choices?.[0]?.text}`;
}

async function awake(
  engines: Engines,
  lab: Lab,
  settings: Partial<Settings> = {},
  more: Parameters<Lab['vllm']>[1] = {},
  root: Omit<ConfigInput, 'models'> = {},
) {
  const engine = engines.make(lab.vllm(settings, more), { ...lab.root, ...root });
  await engine.driver.start(order(1).order);
  return engine;
}

/** What cuda-checkpoint was told, without the numbers of processes. */
const steps = (lab: Lab): string[] => lab.ledger.events('cuda').map(({ detail }) => detail.split(' ')[0] ?? '');
const states = (lab: Lab): string[] => lab.ledger.holders().map(({ state }) => state);
const used = (lab: Lab): number => lab.ledger.usedMib('GPU-lab-0') + lab.ledger.usedMib('GPU-lab-1');

const wordsIn = (body: string): string[] => [...body.matchAll(/"text":"([^"]*)"/g)].map(([, word = '']) => word);

const failure = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: Error) => error.message,
  );

describe('level 3', () => {
  test('what it works on stands still with it and goes on over the same connection', async ({
    engines,
    lab,
    expect,
  }) => {
    const { driver } = await awake(engines, lab, { tokens: 40, tokenMs: 20 });
    const { backend } = driver;
    const ask = async () => {
      const body = JSON.stringify({ model: 'alpha', prompt: 'What is a cat?', max_tokens: 40, stream: true });
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`${backend?.origin}/v1/completions`, { method: 'POST', headers, body })).body;
    };
    const whole = wordsIn(await new Response(await ask()).text());
    const reader = (await ask())?.pipeThrough(new TextDecoderStream()).getReader();
    let said = (await reader?.read())?.value ?? '';
    await driver.sleep(3, { ...order(2).order, open: true });
    expect([states(lab), used(lab), backend?.gone.aborted]).toEqual([['checkpointed'], 0, false]);
    await driver.wake(3, order(3).order);
    expect(driver.backend).toBe(backend);
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) said += read.value;
    expect([wordsIn(said), said.trimEnd().endsWith('[DONE]')]).toEqual([whole, true]);
    await driver.stop(order(4).order);
    expect(backend?.gone.aborted).toBe(true);
  });

  test('everything on the GPU goes to host memory and comes back, step by step', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab);
    const [before, { pid = 0 } = {}] = [await says(driver), driver.running];
    for (let epoch = 2; epoch < 6; epoch += 2) {
      await driver.sleep(3, order(epoch).order);
      expect(lab.ledger.holders()).toMatchObject([{ mib: 0, hostMib: 14_700, state: 'checkpointed' }]);
      await driver.wake(3, order(epoch + 1).order);
      expect(await says(driver)).toBe(before);
    }
    expect(driver.running?.pid).toBe(pid);
    expect(steps(lab)).toEqual([...STEPS, ...STEPS]);
  });

  test('it looks at the GPU once beside the lock and once after the checkpoint', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab);
    // What it holds when it is awake is looked at in the background.
    await expect.poll(() => lab.starts('nvidia-smi')).toBe(1);
    await driver.sleep(3, order(2).order);
    // The last look asks for devices and processes.
    expect([lab.starts('nvidia-smi'), lab.starts('cuda-checkpoint')]).toEqual([1 + 1 + 2, 1 + 2]);
    await driver.wake(3, order(3).order);
    expect(lab.starts('cuda-checkpoint')).toBe(1 + 4);
  });

  test('a process that cannot be locked goes on as before', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab);
    lab.ledger.plan({ point: 'cuda.lock', kind: 'fail' });
    expect(await failure(driver.sleep(3, order(2).order))).toMatch(/could not lock process \d+: .*not ready/);
    expect(states(lab)).toEqual(['running']);
    // A deeper level, or the same once more, finds it as it was.
    await driver.sleep(3, order(3).order);
    await driver.wake(3, order(4).order);
    expect(await says(driver)).toMatch(/^200 \w/);
  });

  test('without the program it is refused before anything is done', async ({ engines, lab, expect }) => {
    const checkpoint = { cuda_checkpoint_path: '/nowhere/cuda-checkpoint' };
    const none = await awake(engines, lab, {}, {}, { checkpoint });
    expect(await failure(none.driver.sleep(3, order(2).order))).toMatch(
      /was not found \(checkpoint.cuda_checkpoint_path\)/,
    );
    expect(states(lab)).toEqual(['running']);
    await none.driver.stop(order(3).order);
  });

  test('nothing is restored where there is no room for it', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab);
    await driver.sleep(3, order(2).order);
    const other = await awake(engines, lab);
    expect(await failure(driver.wake(3, order(3).order))).toMatch(
      /needs 14700 MiB of GPU-lab-0 to come back, and 9300/,
    );
    expect(steps(lab)).not.toContain('restore');
    await other.driver.stop(order(2).order);
  });

  test('several GPUs that work together are refused, since they would hang afterwards', async ({
    engines,
    lab,
    expect,
  }) => {
    const { driver } = await awake(engines, lab, {}, TP2);
    expect(await failure(driver.sleep(3, order(2).order))).toMatch(/runs on 2 GPUs .* use level "hybrid"/);
    expect(steps(lab)).toEqual([]);
  });

  test('so they are where only a file of vLLM or a command of its own says that there are several', async ({
    engines,
    lab,
    expect,
  }) => {
    const filed = lab.vllm({}, { extra_args: ['--config', TWO_GPUS, ...TP2.extra_args.slice(2)] });
    const serve = 'serve lab/model --served-model-name alpha --port ${PORT} --tensor-parallel-size 2';
    const commanded: ModelInput = { backend: 'command', command: `${lab.tool('vllm')} ${serve}` };
    for (const [model, level, hint] of [
      [filed, 3, /in 2 processes on 2 GPUs.* say in extra_args .* use level "hybrid", or use 5$/],
      // What it is not told of it cannot part.
      [filed, 'hybrid', /in 2 processes on 2 GPUs.* say in extra_args/],
      [commanded, 3, /in 2 processes on 2 GPUs.*; use level 5$/],
    ] as const) {
      const { driver } = engines.make(model, lab.root);
      await driver.start(order(1).order);
      expect(await failure(driver.sleep(level, order(2).order))).toMatch(hint);
      expect(states(lab)).toEqual(['running', 'running']);
      expect(steps(lab)).not.toContain('checkpoint');
      expect(lab.ledger.holders().some(({ broken }) => broken)).toBe(false);
      await driver.stop(order(3).order);
    }
  });

  test('a driver without single steps is good enough for one process', async ({ engines, lab, expect }) => {
    lab.setDriver('550');
    const { driver } = await awake(engines, lab);
    const before = await says(driver);
    await driver.sleep(3, order(2).order);
    expect(states(lab)).toEqual(['checkpointed']);
    await driver.wake(3, order(3).order);
    expect(await says(driver)).toBe(before);
  });

  test('where nvidia-smi names no processes they are found by asking each', async ({ engines, lab, expect }) => {
    lab.ledger.plan({ point: 'smi', kind: 'no-processes', times: 100 });
    const { driver } = await awake(engines, lab);
    await driver.sleep(3, order(2).order);
    expect(states(lab)).toEqual(['checkpointed']);
    await driver.wake(3, order(3).order);
    expect(await says(driver)).toMatch(/^200 \w/);
  });

  test('a frozen engine is ended at once', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab, {}, {}, { stop_grace_secs: 29 });
    await driver.sleep(3, order(2).order);
    await driver.stop(order(3).order);
    expect(lab.ledger.holders()).toEqual([]);
  });
});

const STEPS = ['lock', 'checkpoint', 'restore', 'unlock'];

describe('hybrid', () => {
  test('on two GPUs: level 2, communicators down, all locked before any is frozen, and the reverse', async ({
    engines,
    lab,
    expect,
  }) => {
    for (const [communicatorCalls, more] of [
      // Our own extension of its workers, calls of its own, and what its own sleep gives up.
      ['none', []],
      ['suspend_nccl', OTHER_EXTENSION],
      ['none', [...OTHER_EXTENSION, '--enable-nccl-comm-suspend']],
    ] as const) {
      const extra_args = [...TP2.extra_args, ...more];
      const { driver } = await awake(engines, lab, { communicatorCalls }, { extra_args });
      const before = await says(driver);
      const seen = steps(lab).length;
      await driver.sleep('hybrid', order(2).order);
      expect(used(lab)).toBe(0);
      await driver.wake('hybrid', order(3).order);
      expect(await says(driver)).toBe(before);
      expect(steps(lab).slice(seen)).toEqual(STEPS.flatMap((step) => [step, step]));
      await driver.stop(order(4).order);
    }
  });

  test('without a call that tears communicators down it is refused, and the engine is as before', async ({
    engines,
    lab,
    expect,
  }) => {
    const { driver } = await awake(engines, lab, {}, { extra_args: [...TP2.extra_args, ...OTHER_EXTENSION] });
    expect(await failure(driver.sleep('hybrid', order(2).order))).toMatch(/no call that tears down/);
    expect(states(lab)).toEqual(['running', 'running']);
    // As before means that level 2 alone works.
    await driver.sleep(2, order(3).order);
    await driver.wake(2, order(4).order);
    expect(await says(driver)).toMatch(/^200 \w/);
  });

  test('whatever step fails, those before it are taken back', async ({ engines, lab, expect }) => {
    for (const [point, kind] of [
      ['vllm.communicator', 'fail'],
      ['cuda.lock', 'fail'],
    ] as const) {
      const { driver } = await awake(engines, lab, { communicatorCalls: 'suspend_nccl' }, TP2);
      lab.ledger.plan({ point, kind });
      expect(await failure(driver.sleep('hybrid', order(2).order))).toMatch(/ncclCommDestroy|could not lock/);
      expect([point, states(lab)]).toEqual([point, ['running', 'running']]);
      expect([point, lab.ledger.holders().every(({ joined, broken }) => joined && !broken)]).toEqual([point, true]);
      await driver.sleep(2, order(3).order);
      await driver.wake(2, order(4).order);
      expect([point, await says(driver)]).toEqual([point, expect.stringMatching(/^200 \w/)]);
      await driver.stop(order(5).order);
    }
  });

  test('what it needs of the flags is said', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab, {}, { extra_args: ['--tensor-parallel-size', '2'] });
    expect(await failure(driver.sleep('hybrid', order(2).order))).toMatch(
      /needs --enforce-eager and --disable-custom-all-reduce in extra_args/,
    );
  });
});
