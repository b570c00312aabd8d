import { describe } from 'vitest';
import type { NapLevel } from '../../src/core/kinds.ts';
import type { Driver } from '../../src/engines/driver.ts';
import type { Settings } from '../fixtures/lab/settings.ts';
import { Lab } from '../helpers/lab.ts';
import { order, test as base, type Engines } from './engines.ts';

const test = base.extend<{ lab: Lab }>({
  lab: async ({ engines }, use) => {
    const lab = new Lab(engines.folder);
    await use(lab);
  },
});

const WEIGHTS = 6_000;
const ALL = 6_000 + 8_000 + 700;

async function says(driver: Driver, model = 'alpha'): Promise<string> {
  const body = JSON.stringify({ model, prompt: 'What is a cat?', max_tokens: 6, temperature: 0 });
  const answer = await fetch(`${driver.backend?.origin}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return `${answer.status} ${JSON.parse(await answer.text())?.choices?.[0]?.text}`;
}

const calls = (lab: Lab): string[] =>
  lab.ledger
    .events('called')
    .map(({ detail }) => detail)
    .filter((detail) => !detail.startsWith('GET'));

async function awake(
  engines: Engines,
  lab: Lab,
  settings: Partial<Settings> = {},
  more: Parameters<Lab['vllm']>[1] = {},
) {
  const engine = engines.make(lab.vllm(settings, more), lab.root);
  await engine.driver.start(order(1).order);
  return engine;
}

describe('the two levels of its own', () => {
  test('level 1 gives memory back, keeps the weights in host memory, and answers the same afterwards', async ({
    engines,
    lab,
    expect,
  }) => {
    const { driver } = await awake(engines, lab);
    const [before, { pid = 0 } = {}] = [await says(driver), driver.running];
    expect(lab.ledger.usedMib('GPU-lab-0')).toBe(ALL);
    await driver.sleep(1, order(2).order);
    expect(lab.ledger.holders()).toMatchObject([{ mib: 700, hostMib: WEIGHTS }]);
    expect(driver.backend).toBeUndefined();
    await driver.wake(1, order(3).order);
    expect(await says(driver)).toBe(before);
    expect(driver.running?.pid).toBe(pid);
    expect(calls(lab)).toEqual(['POST /sleep?level=1&mode=wait', 'POST /wake_up']);
  });

  test('level 2 drops the weights and loads them again, step by step', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab, {}, { sleep_level: 2 });
    const before = await says(driver);
    await driver.sleep(2, order(2).order);
    expect(lab.ledger.holders()).toMatchObject([{ mib: 700, hostMib: 0 }]);
    await driver.wake(2, order(3).order);
    expect(await says(driver)).toBe(before);
    expect(calls(lab)).toEqual([
      'POST /sleep?level=2&mode=wait',
      'POST /wake_up?tags=weights',
      'POST /collective_rpc {"method":"reload_weights"}',
      'POST /wake_up?tags=kv_cache',
      'POST /reset_prefix_cache',
    ]);
  });

  test('one that cannot wake in parts is woken as a whole and filled afterwards', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab, { version: '0.8.2' }, { sleep_level: 2 });
    const before = await says(driver);
    await driver.sleep(2, order(2).order);
    await driver.wake(2, order(3).order);
    expect(await says(driver)).toBe(before);
    expect(calls(lab).slice(1)).toEqual([
      'POST /wake_up',
      'POST /collective_rpc {"method":"reload_weights"}',
      'POST /reset_prefix_cache',
    ]);
  });

  test('cycles of both leave it as it was', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab);
    const before = await says(driver);
    for (let cycle = 0; cycle < 4; cycle += 1) {
      const level: NapLevel = cycle % 2 === 0 ? 1 : 2;
      await driver.sleep(level, order(2 * cycle + 2).order);
      await driver.wake(level, order(2 * cycle + 3).order);
    }
    expect(await says(driver)).toBe(before);
    expect(lab.ledger.usedMib('GPU-lab-0')).toBe(ALL);
  });

  test('every version sleeps that can, and those that free nothing are not put to sleep at all', async ({
    engines,
    lab,
    expect,
  }) => {
    for (const [version, outcome] of [
      ['0.13.0', 'asleep'],
      ['0.15.1', 'refused'],
      ['0.17.0', 'asleep'],
    ] as const) {
      const { driver } = await awake(engines, lab, { version });
      for (const level of [1, 2] as const) {
        const end = await driver.sleep(level, order(2).order).then(
          () => 'asleep',
          (error: Error) => (/frees no memory/.test(error.message) ? 'refused' : error.message),
        );
        expect([version, level, end]).toEqual([version, level, outcome]);
        if (end !== 'asleep') continue;
        await driver.wake(level, order(3).order);
        expect([version, await says(driver)]).toEqual([version, expect.stringMatching(/^200 \w/)]);
      }
      await driver.stop(order(9).order);
    }
  });
});

describe('nothing is believed', () => {
  test('without nvidia-smi its word is taken, and that is said once', async ({ engines, lab, expect }) => {
    const { driver, warnings } = engines.make(lab.vllm(), { ...lab.root, gpu: { nvidia_smi_path: '/nowhere/smi' } });
    await driver.start(order(1).order);
    for (const epoch of [2, 4]) {
      await driver.sleep(1, order(epoch).order);
      await driver.wake(1, order(epoch + 1).order);
    }
    expect(warnings).toEqual([expect.stringContaining('its word is taken')]);
  });

  test('where the driver names no processes, whole devices are compared', async ({ engines, lab, expect }) => {
    lab.ledger.plan({ point: 'smi', kind: 'no-processes', times: 100 });
    const { driver } = await awake(engines, lab);
    await driver.sleep(1, order(2).order);
    await driver.wake(1, order(3).order);
    lab.ledger.plan({ point: 'vllm.sleep', kind: 'not-freed' });
    await expect(driver.sleep(1, order(4).order)).rejects.toThrow(/no GPU has more free memory/);
  });
});

describe('the end of one that was on the GPU', () => {
  test.for([['where it was awake'], ['at level 1', 1]] as const)(
    '%s is over when its memory is free, and the next one finds room',
    async ([, level], { engines, lab, expect }) => {
      lab.ledger.setLag(1_500);
      const gpu = { ...lab.root.gpu, free_timeout_secs: 60 };
      const { driver, warnings } = engines.make(lab.vllm({ contextMib: 6_000 }), { ...lab.root, gpu });
      await driver.start(order(1).order);
      if (level !== undefined) await driver.sleep(level, order(2).order);
      await driver.stop(order(3).order);
      expect(lab.ledger.usedMib('GPU-lab-0')).toBe(0);
      expect(warnings).toEqual([]);
      const next = engines.make(lab.vllm({ weightsMib: 15_000, contextMib: 1_000 }), lab.root);
      await next.driver.start(order(1).order);
      expect(lab.ledger.events('refused')).toEqual([]);
    },
  );

  test('memory that stays taken is told, and the end goes on', async ({ engines, lab, expect }) => {
    lab.ledger.setLag(600_000);
    const { driver, warnings } = await awake(engines, lab);
    await driver.stop(order(2).order);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^alpha: vLLM has ended, and the 14700 MiB that it held of GPU-lab-0 are not free [\d.]+ s after/,
      ),
    ]);
    expect(driver.running).toBeUndefined();
  });
});

describe('what stands in the way', () => {
  test('speculative decoding rules out level 2 and not level 1', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab, {}, { extra_args: ['--speculative-config.method', 'mtp'] });
    await expect(driver.sleep(2, order(2).order)).rejects.toThrow(/draft model/);
    await driver.sleep(1, order(3).order);
    await driver.stop(order(4).order);
    const byKey = await awake(engines, lab, {}, { vllm_speculative_method: 'mtp' });
    await expect(byKey.driver.sleep(2, order(2).order)).rejects.toThrow(/draft model/);
    await byKey.driver.stop(order(3).order);
    const without = engines.make(lab.vllm({}, { vllm_speculative_method: 'mtp' }), lab.root, {
      vllm_speculative_method: null,
    });
    await without.driver.start(order(1).order);
    await without.driver.sleep(2, order(2).order);
  });

  test('adapters are there after a wake, or it has failed', async ({ engines, lab, expect }) => {
    const { driver } = await awake(
      engines,
      lab,
      {},
      {
        extra_args: ['--enable-lora', '--lora-modules', 'tuned=/adapters/tuned'],
        env: { VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True' },
      },
    );
    const before = await says(driver, 'tuned');
    lab.ledger.plan({ point: 'vllm.adapters', kind: 'lost' });
    await driver.sleep(1, order(2).order);
    await driver.wake(1, order(3).order);
    expect(await says(driver, 'tuned')).toBe(before);
    await driver.sleep(2, order(4).order);
    await driver.wake(2, order(5).order);
    expect(await says(driver, 'tuned')).toBe(before);
  });

  test('adapters that were given at the start only rule out level 2', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab, {}, { extra_args: ['--enable-lora', '--lora-modules', 'tuned=/a'] });
    await expect(driver.sleep(2, order(2).order)).rejects.toThrow(/VLLM_ALLOW_RUNTIME_LORA_UPDATING/);
  });

  test('a level that is not allowed leaves no flag behind', async ({ engines, lab, expect }) => {
    await awake(engines, lab, {}, { levels_allowed: [5] });
    const [spawned] = lab.ledger.events('spawned');
    expect(spawned?.detail).not.toMatch(/enable-sleep-mode|VLLM_SERVER_DEV_MODE/);
  });

  test('a warm-up sleeps once before anybody waits; what hinders it is told, and one that failed is not tried again', async ({
    engines,
    lab,
    expect,
  }) => {
    await awake(engines, lab, {}, { warmup: true });
    expect(calls(lab)).toEqual(['POST /sleep?level=1&mode=wait', 'POST /wake_up']);
    const old = await awake(engines, lab, { version: '0.15.1', weightsMib: 100, kvMib: 100 }, { warmup: true });
    expect(old.warnings).toEqual([expect.stringContaining('not warmed up: vLLM 0.15.1')]);
    await old.driver.stop(order(2).order);

    lab.ledger.plan({ point: 'vllm.sleep', kind: 'fail' });
    const { driver } = engines.make(lab.vllm({ weightsMib: 100, kvMib: 100 }, { warmup: true }), lab.root);
    await expect(driver.start(order(1).order)).rejects.toThrow(/\/sleep: it answered 500/);
    await driver.stop(order(2).order);
    await driver.start(order(3).order);
  });
});
