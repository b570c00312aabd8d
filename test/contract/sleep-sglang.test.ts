import { readFileSync, statSync } from 'node:fs';
import { describe } from 'vitest';
import type { Driver } from '../../src/engines/driver.ts';
import type { SglangSettings } from '../fixtures/lab/sglang-settings.ts';
import { Lab } from '../helpers/lab.ts';
import { order, test as base, type Engines } from './engines.ts';

const test = base.extend<{ lab: Lab }>({
  lab: async ({ engines }, use) => {
    const lab = new Lab(engines.folder);
    await use(lab);
  },
});

const ALL = 6_000 + 8_000 + 700;

const ask = (driver: Driver, more: object = {}, signal?: AbortSignal): Promise<Response> => {
  const body = JSON.stringify({ model: 'alpha', prompt: 'What is a cat?', max_tokens: 6, temperature: 0, ...more });
  const headers = { 'content-type': 'application/json', ...driver.backend?.headers };
  return fetch(`${driver.backend?.origin}/v1/completions`, {
    method: 'POST',
    headers,
    body,
    ...(signal && { signal }),
  });
};

async function says(driver: Driver): Promise<string> {
  const answer = await ask(driver);
  return `${answer.status} ${JSON.parse(await answer.text())?.choices?.[0]?.text}`;
}

const calls = (lab: Lab): string[] => lab.ledger.events('called').map(({ detail }) => detail);

type More = Parameters<Lab['sglang']>[1];

async function awake(engines: Engines, lab: Lab, more: More = {}, settings: Partial<SglangSettings> = {}) {
  const engine = engines.make(lab.sglang(settings, more), lab.root);
  await engine.driver.start(order(1).order);
  return engine;
}

function spawned(lab: Lab): { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  return JSON.parse(lab.ledger.events('spawned').at(-1)?.detail ?? '{}');
}

describe('its memory saver', () => {
  test('level 1 keeps the weights in host memory and answers the same afterwards', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab);
    const [before, { pid = 0 } = {}] = [await says(driver), driver.running];
    expect(lab.ledger.usedMib('GPU-lab-0')).toBe(ALL);
    await driver.sleep(1, order(2).order);
    expect(lab.ledger.holders()).toMatchObject([{ mib: 700, hostMib: 6_000 }]);
    expect(driver.backend).toBeUndefined();
    await driver.wake(1, order(3).order);
    expect([await says(driver), driver.running?.pid]).toEqual([before, pid]);
    expect(calls(lab)).toEqual(['/flush_cache {}', '/release_memory_occupation {}', '/resume_memory_occupation {}']);
  });

  test('level 2 drops them, and loads them from disk once all memory is there again', async ({
    engines,
    lab,
    expect,
  }) => {
    const { driver } = await awake(engines, lab, { sleep_level: 2 });
    const before = await says(driver);
    for (const epoch of [2, 4]) {
      await driver.sleep(2, order(epoch).order);
      expect(lab.ledger.holders()).toMatchObject([{ mib: 700, hostMib: 0 }]);
      await driver.wake(2, order(epoch + 1).order);
      expect(await says(driver)).toBe(before);
    }
    // It asks again for as long as somebody is left in it.
    const each = calls(lab).filter((call, at, all) => call !== all[at - 1]);
    expect(each.slice(0, 5)).toEqual([
      '/flush_cache {}',
      '/release_memory_occupation {}',
      '/resume_memory_occupation {}',
      '/update_weights_from_disk {"model_path":"lab/model"}',
      '/flush_cache {}',
    ]);
  });

  test('it is told to give memory up only when nobody is left in it', async ({ engines, lab, expect }) => {
    const { driver, exits } = await awake(engines, lab, {}, { flowWhile: lab.flow('alpha').flowWhile });
    const stream = await ask(driver, { stream: true }, driver.backend?.gone);
    await stream.body?.getReader().read();
    await driver.sleep(1, order(2).order);
    expect(calls(lab).filter((call) => call.startsWith('/flush_cache')).length).toBeGreaterThan(1);
    await driver.wake(1, order(3).order);
    expect([(await says(driver)).slice(0, 4), exits]).toEqual(['200 ', []]);
  });

  test('a process on each of several GPUs sleeps and wakes', async ({ engines, expect }) => {
    const lab = new Lab(engines.folder, [24_000, 24_000]);
    const { driver } = await awake(engines, lab, { extra_args: ['--tp-size', '2'] });
    const before = await says(driver);
    await driver.sleep(1, order(2).order);
    expect(lab.ledger.holders().map(({ mib }) => mib)).toEqual([700, 700]);
    await driver.wake(1, order(3).order);
    expect(await says(driver)).toBe(before);
  });
});

describe('how it is started', () => {
  test('for the levels it may be put to, with its key where no list of processes shows it', async ({
    engines,
    lab,
    expect,
  }) => {
    const { driver } = await awake(engines, lab, { api_key: 'sk-1', sglang_context_length: 4_096 });
    const { argv } = spawned(lab);
    const file = argv[argv.indexOf('--config') + 1] ?? '';
    expect(argv).toEqual([
      ...['-m', 'sglang.launch_server', '--model-path', 'lab/model', '--host', '127.0.0.1'],
      ...['--port', `${driver.running?.port}`, '--served-model-name', 'alpha'],
      ...['--enable-memory-saver', '--enable-weights-cpu-backup', '--context-length', '4096', '--config', file],
    ]);
    expect([readFileSync(file, 'utf8'), (statSync(file).mode & 0o777).toString(8)]).toEqual([
      'api-key: "sk-1"\n',
      '600',
    ]);
    expect(`${argv.join(' ')} ${driver.running?.commandLine}`).not.toContain('sk-1');
    expect(await says(driver)).toMatch(/^200 /);
    await driver.sleep(1, order(2).order);
    await driver.wake(1, order(3).order);
  });

  test('control calls carry the key of the operator where there is one', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab, { api_key: 'sk-1', extra_args: ['--admin-api-key', 'boss'] });
    await driver.sleep(1, order(2).order);
    await driver.wake(1, order(3).order);
    expect(await says(driver)).toMatch(/^200 /);
    expect(driver.running?.commandLine).not.toContain('boss');
  });

  test('without the levels there is no saver, and with level 2 no copy', async ({ engines, lab, expect }) => {
    const { driver } = await awake(engines, lab, { levels_allowed: [3, 5] });
    expect(spawned(lab).argv.join(' ')).not.toMatch(/memory-saver|cpu-backup/);
    await driver.stop(order(2).order);
    await awake(engines, lab, { levels_allowed: [2, 5], extra_args: ['--enable-memory-saver'] });
    const { argv } = spawned(lab);
    expect(argv.filter((word) => /memory-saver|cpu-backup/.test(word))).toEqual(['--enable-memory-saver']);
  });

  test('a start that fails is told by what it printed, and by its kind', async ({ engines, lab, expect }) => {
    lab.ledger.plan({ point: 'sglang.start', kind: 'bad-flag' });
    lab.ledger.plan({ point: 'sglang.start', kind: 'missing' });
    for (const [settings, tells, trouble] of [
      [{}, /unrecognized arguments: --no-such-flag/, 'bad_flag'],
      [{}, /is not a local folder and is not a valid model identifier/, 'missing_file'],
      [{ weightsMib: 30_000 }, /out of memory: .*Not enough memory/, 'out_of_memory'],
    ] as const) {
      const { driver } = engines.make(lab.sglang(settings), lab.root);
      await expect(driver.start(order(1).order)).rejects.toMatchObject({
        message: expect.stringMatching(tells),
        trouble,
      });
      await driver.stop(order(2).order);
    }
  });
});

describe('nothing is believed', () => {
  test('a level that it was not started for is refused with what to change', async ({ engines, lab, expect }) => {
    const keeping = await awake(engines, lab);
    await expect(keeping.driver.sleep(2, order(2).order)).rejects.toThrow(/Set sleep_level to 2, or leave 1 out/);
    await keeping.driver.stop(order(3).order);
    const dropping = await awake(engines, lab, { sleep_level: 2, extra_args: ['--speculative-algorithm', 'EAGLE'] });
    await expect(dropping.driver.sleep(1, order(2).order)).rejects.toThrow(/leave 2 out of levels_allowed/);
    await expect(dropping.driver.sleep(2, order(2).order)).rejects.toThrow(/draft model/);
  });
});
