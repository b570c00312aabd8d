import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'vitest';
import type { Driver } from '../../src/engines/driver.ts';
import { Lab } from '../helpers/lab.ts';
import { order, test as base, type Engines } from './engines.ts';

const test = base.extend<{ lab: Lab }>({
  lab: async ({ engines }, use) => {
    const lab = new Lab(engines.folder);
    await use(lab);
  },
});

const ALL = 6_000 + 4_000 + 600;

async function says(driver: Driver): Promise<string> {
  const body = JSON.stringify({ model: 'alpha', prompt: 'What is a cat?', max_tokens: 6, temperature: 0 });
  const headers = { 'content-type': 'application/json', ...driver.backend?.headers };
  const answer = await fetch(`${driver.backend?.origin}/v1/completions`, { method: 'POST', headers, body });
  return `${answer.status} ${JSON.parse(await answer.text())?.choices?.[0]?.text}`;
}

async function parametersOf(driver: Driver): Promise<unknown> {
  const answer = await fetch(`${driver.backend?.origin}/v1/model`, { headers: { ...driver.backend?.headers } });
  return JSON.parse(await answer.text()).parameters;
}

type More = Parameters<Lab['tabby']>[1];

async function awake(engines: Engines, lab: Lab, more: More = {}, override = {}) {
  const engine = engines.make(lab.tabby({}, more), lab.root, override);
  await engine.driver.start(order(1).order);
  return engine;
}

function spawned(lab: Lab): { readonly argv: readonly string[]; readonly cwd: string } {
  return JSON.parse(lab.ledger.events('spawned').at(-1)?.detail ?? '{}');
}

describe('its model comes and goes by calls', () => {
  test('level 2 unloads it and loads it again in the same process', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab);
    const [before, { pid = 0 } = {}] = [await says(driver), driver.running];
    expect(before).toMatch(/^200 \w/);
    expect(lab.ledger.usedMib('GPU-lab-0')).toBe(ALL);
    for (const epoch of [2, 4]) {
      await driver.sleep(2, order(epoch).order);
      expect(lab.ledger.holders()).toMatchObject([{ mib: 600, hostMib: 0 }]);
      expect(driver.backend).toBeUndefined();
      await driver.wake(2, order(epoch + 1).order);
      expect([await says(driver), driver.running?.pid]).toEqual([before, pid]);
    }
  });

  test('there is no level 1, and that is said', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab);
    await expect(driver.sleep(1, order(2).order)).rejects.toThrow(/cannot be put to sleep at level 1/);
  });

  test('what keys, arguments and a load have decided holds for the start and for a wake', async ({
    engines,
    lab,
    expect,
  }) => {
    const extra_args = ['--cache-size', '1024', '--max-batch-size', '8', '--gpu-split', '10', '12', '--cache-mode=4,4'];
    const override = { exllama_cache_size: 32_768, exllama_cache_k_bits: 8, exllama_cache_v_bits: 4 };
    const { driver } = await awake(engines, lab, { exllama_max_rq_tokens: 2_048, extra_args }, override);
    const expected = {
      ...{ cache_size: 32_768, cache_mode: '8,4', max_seq_len: 2_048, max_batch_size: 8, gpu_split: [10, 12] },
    };
    expect(await parametersOf(driver)).toMatchObject(expected);
    expect(spawned(lab).argv.join(' ')).not.toMatch(/cache-size|cache-mode/);
    await driver.sleep(2, order(2).order);
    await driver.wake(2, order(3).order);
    expect(await parametersOf(driver)).toMatchObject(expected);
  });

  test('a load that wants no quantisation has none, whatever else was said', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab, { exllama_cache_quant: '8' }, { exllama_cache_quant: null });
    expect(await parametersOf(driver)).toMatchObject({ cache_mode: 'FP16' });
    await driver.stop(order(2).order);
    const plain = await awake(engines, lab, { exllama_cache_quant: '8' });
    expect(await parametersOf(plain.driver)).toMatchObject({ cache_mode: '8,8' });
  });
});

test('its keys are its own, in a file that nobody else reads, and never where people look', async ({
  engines,
  lab,
  expect,
}) => {
  const { driver } = await awake(engines, lab);
  const { argv, cwd } = spawned(lab);
  const file = join(cwd, 'api_tokens.yml');
  const keys = [...readFileSync(file, 'utf8').matchAll(/"(.+)"/g)].map(([, key]) => key ?? '');
  expect([keys.length, (statSync(file).mode & 0o777).toString(8)]).toEqual([2, '600']);
  const seen = [...argv, driver.running?.commandLine, ...driver.tail(100)].join('\n');
  for (const key of keys) expect(seen).not.toContain(key);
  expect(driver.backend?.headers).toEqual({ authorization: `Bearer ${keys[0]}` });
  const asClient = { method: 'POST', headers: { ...driver.backend?.headers } };
  expect((await fetch(`${driver.backend?.origin}/v1/model/unload`, asClient)).status).toBe(401);
  await driver.stop(order(2).order);
  const named = await awake(engines, lab, { api_key: 'sk-mine' });
  expect(named.driver.backend?.headers).toEqual({ authorization: 'Bearer sk-mine' });
  expect(await says(named.driver)).toMatch(/^200 /);
});

describe('a start', () => {
  test('goes on for as long as the load tells its steps, and fails when it only pings', async ({
    engines,
    lab,
    expect,
  }) => {
    // All steps together take longer than it may tell nothing, and one of them may be late on a busy machine.
    const slow = { modules: 24, stepMs: 125 };
    const steady = engines.make(lab.tabby(slow), { ...lab.root, startup_stall_secs: 2.5 });
    await steady.driver.start(order(1).order);
    await steady.driver.stop(order(2).order);
    lab.ledger.plan({ point: 'tabby.load', kind: 'hang' });
    const hung = engines.make(lab.tabby(), { ...lab.root, startup_stall_secs: 2.5 });
    await expect(hung.driver.start(order(1).order)).rejects.toMatchObject({
      message: 'TabbyAPI loads and has told nothing for 2.5 s (startup_stall_secs)',
      trouble: 'too_late',
    });
  });

  test('that fails is told by what it was, and by its kind', async ({ engines, lab, expect }) => {
    for (const [point, kind, tells, trouble] of [
      ['tabby.start', 'bad-flag', /TabbyAPI ended with code 2: main.py: error: unrecognized arguments/, 'bad_flag'],
      ['tabby.load', 'oom', /could not load the model: Insufficient VRAM/, 'out_of_memory'],
      ['tabby.load', 'die', /TabbyAPI ended with code 1/, undefined],
      ['tabby.load', 'cut', /its answer ended before the load was done/, undefined],
    ] as const) {
      lab.ledger.plan({ point, kind });
      const { driver } = engines.make(lab.tabby(), lab.root);
      const failed = expect(driver.start(order(1).order), kind).rejects;
      await failed.toMatchObject({ message: expect.stringMatching(tells), trouble });
      await driver.stop(order(2).order);
    }
  });

  test('with a cache that a file in the folder of the model overrules has failed', async ({ engines, lab, expect }) => {
    lab.ledger.plan({ point: 'tabby.load', kind: 'overruled' });
    const { driver } = engines.make(lab.tabby({}, { exllama_cache_size: 1_024 }), lab.root);
    await expect(driver.start(order(1).order)).rejects.toThrow(/cache_size 512 in place of 1024: tabby_config.yml/);
  });
});
