import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'vitest';
import { z } from 'zod';
import type { ConfigInput } from '../../src/config/schema.ts';
import { configFile, stateDir, writeConfig } from '../helpers/catnap.ts';
import { requireCriu } from '../helpers/criu.ts';
import { test as base, type Run } from '../helpers/e2e.ts';
import { Lab } from '../helpers/lab.ts';
import { randomModel } from '../helpers/models.ts';

type Args = { readonly levels?: string; readonly cycles?: number; readonly model?: string };

const test = base
  .extend(
    'validate',
    ({ folder, run }) =>
      async (config: ConfigInput, args: Args = {}, env: Parameters<Run>[1] = {}) => {
        const { levels, cycles, model = 'alpha' } = args;
        const words = ['--config', writeConfig(folder, config), '--validate', model, '--json'];
        if (levels !== undefined) words.push('--levels', levels);
        if (cycles !== undefined) words.push('--cycles', `${cycles}`);
        const { code, out, err } = await run(words, env);
        return { code, err, report: out === '' ? undefined : JSON.parse(out) };
      },
  )
  .extend('lab', ({ folder }) => new Lab(folder));

const outcomes = (report: { levels: { level: unknown; outcome: unknown }[] }) =>
  Object.fromEntries(report.levels.map(({ level, outcome }) => [level, outcome]));

const verdictsIn = (folder: string): Record<string, unknown>[] =>
  JSON.parse(readFileSync(join(stateDir(folder), 'verdicts.json'), 'utf8')).verdicts;

describe('the real llama-server', () => {
  test('passes level 5: gone, and the same answer afterwards', async ({ expect, folder, llama, validate }) => {
    const model = llama.file(await randomModel({ seed: 1 }), { llama_server_n_ctx: 1_024, llama_server_parallel: 1 });
    const { code, report } = await validate({ models: { alpha: model } }, { levels: '5' });
    expect(report).toMatchObject({ model: 'alpha', passed: true, levels: [{ level: 5, measured_by: 'processes' }] });
    const [{ answer_tokens: tokens, cycles }] = report.levels;
    expect(tokens).toBeGreaterThanOrEqual(64);
    expect(cycles).toHaveLength(2);
    for (const cycle of cycles) {
      expect(cycle).toMatchObject({ response: 'match', asleep: { processes: 0 }, awake: { processes: 1 } });
      expect(cycle.before.process_mib).toBeGreaterThan(1);
      expect(cycle.pid_after).not.toBe(cycle.pid_before);
    }
    expect(code).toBe(0);
    expect(verdictsIn(folder)).toMatchObject([
      { model: 'alpha', level: 5, passed: true, identity: { version: expect.stringMatching(/\d/) } },
    ]);
  });
});

describe('the real llama-server on disk, by the real criu', () => {
  test('passes level 4: the same process, the same answer, nothing left of it meanwhile', async ({
    expect,
    folder,
    llama,
    skip,
    validate,
  }) => {
    const images = join(folder, 'images');
    const checkpoint = { criu_path: await requireCriu({ skip }), images_dir: images };
    const model = llama.file(await randomModel({ seed: 1 }), { llama_server_n_ctx: 1_024, llama_server_parallel: 1 });
    const { code, report } = await validate({ models: { alpha: model }, checkpoint }, { levels: '4,4full' });
    expect(outcomes(report)).toEqual({ 4: 'passed', '4full': 'passed' });
    for (const { cycles } of report.levels) {
      expect(cycles).toHaveLength(2);
      for (const cycle of cycles) {
        expect(cycle).toMatchObject({ response: 'match', asleep: { processes: 0 } });
        expect(cycle.pid_after).toBe(cycle.pid_before);
      }
    }
    expect(code).toBe(0);
    expect(readdirSync(images)).toEqual([]);
  });

  test('without criu the level fails when it is named, and what to install is told', async ({
    expect,
    llama,
    validate,
  }) => {
    const config = { models: { alpha: await llama.says('hi') }, checkpoint: { criu_path: '/no/such/criu' } };
    const { code, report } = await validate(config, { levels: '4', cycles: 1 });
    expect(report.levels[0]).toMatchObject({ outcome: 'failed', fault: 'place' });
    expect(report.levels[0].reasons[0]).toContain('install criu 4 or newer');
    expect(code).toBe(1);
  });
});

describe('the built-in engine', () => {
  const config: ConfigInput = { models: { alpha: { backend: 'stub', tokens: 70 }, beta: { backend: 'stub' } } };

  test('naps at the levels it has; the others are left out, and the table says why', async ({
    expect,
    folder,
    run,
  }) => {
    const { code, out, err } = await run(['--config', writeConfig(folder, config), '--validate', 'alpha']);
    const rows = out.split('\n').filter((line) => /^(L\d|hybrid)/.test(line) && /(OK|SKIP|FAIL)$/.test(line));
    expect(rows.map((row) => [row.split(/\s+/)[0], row.split(/\s+/).at(-1)])).toEqual([
      ['L1', 'OK'],
      ['L2', 'OK'],
      ['L3', 'SKIP'],
      ['hybrid', 'SKIP'],
      ['L4', 'SKIP'],
      ['L4full', 'SKIP'],
      ['L5', 'OK'],
    ]);
    expect(out).toMatch(/^Level +Sleep \(s\) +Wake \(s\) +GPU Before +GPU After +GPU Wake +Response +Pass$/m);
    expect(out).toContain('L3 skipped: this version cannot do level 3 for stub');
    expect(out).toMatch(/^Result: ALL PASSED/m);
    expect(err).toContain('alpha: level 1: it is woken, cycle 2 of 2');
    expect(code).toBe(0);
  });

  test('fails at a level it does not have when somebody names it', async ({ expect, validate }) => {
    const { code, report } = await validate(config, { levels: '1,3', cycles: 1 });
    expect([code, outcomes(report)]).toEqual([1, { 1: 'passed', 3: 'failed' }]);
  });

  test('is not looked for under a name that is none', async ({ expect, validate }) => {
    const { code, err } = await validate(config, { model: 'alhpa' });
    expect(code).toBe(2);
    expect(err).toContain('The config has no model "alhpa". Did you mean alpha?');
  });
});

describe('stand-ins for vLLM', () => {
  const settings = { tokens: 70, tokenMs: 0 };
  /** Which level it went to sleep at, when somebody wanted the other. */
  const fallsTo = (log: string) => /is not used \(([^)]*)\); level (\S+) is used/.exec(log)?.slice(1);

  test('pass where the levels keep their word', async ({ expect, lab, validate }) => {
    const config = { ...lab.root, models: { alpha: lab.vllm(settings) } };
    const { code, report } = await validate(config, { levels: '1,3' }, { env: lab.env });
    expect(outcomes(report)).toEqual({ 1: 'passed', 3: 'passed' });
    const [one] = report.levels;
    expect(one).toMatchObject({ measured_by: 'gpu', answer_tokens: 64 });
    expect(one.cycles[1]).toMatchObject({
      before: { gpu_mib: 14_700 },
      asleep: { gpu_mib: 700 },
      awake: { gpu_mib: 14_700 },
    });
    expect(one.cycles[0].pid_after).toBe(one.cycles[0].pid_before);
    expect(report).toMatchObject({ gpu_driver: '580.95.05', engine_version: '0.29.0' });
    expect(code).toBe(0);
  });

  test('pass at level 4, asleep before or not, and each way is held against the disk', async ({
    expect,
    lab,
    skip,
    validate,
  }) => {
    lab.useCriu(await requireCriu({ skip }));
    const config = { ...lab.root, models: { alpha: lab.vllm(settings) } };
    const { code, report } = await validate(config, { levels: '4,4full', cycles: 1 }, { env: lab.env });
    expect([code, outcomes(report)]).toEqual([0, { 4: 'passed', '4full': 'passed' }]);
    for (const { cycles } of report.levels)
      expect(cycles[0]).toMatchObject({
        ...{ before: { gpu_mib: 14_700 }, asleep: { gpu_mib: 0, processes: 0 }, awake: { gpu_mib: 14_700 } },
        ratio_to_limit: { sleep: { link: 'disk write' }, wake: { ratio: expect.any(Number) } },
      });
    // Only one of them was put to sleep before it went to disk.
    expect(lab.ledger.events('called').filter(({ detail }) => detail.startsWith('POST /sleep'))).toHaveLength(1);
  });

  test('are found out when they free nothing or corrupt what they say, and it is remembered', async ({
    expect,
    folder,
    lab,
    validate,
    start,
    run,
  }) => {
    const model = lab.vllm(settings, { sleep_level: 1 });
    const config: ConfigInput = { ...lab.root, models: { alpha: model, beta: { backend: 'stub' } } };
    lab.ledger.plan({ point: 'vllm.wake', kind: 'garbage' });
    const corrupt = await validate(config, { levels: '1', cycles: 1 }, { env: lab.env });
    expect(corrupt.report.levels[0].reasons).toEqual([expect.stringMatching(/answers rubbish after level 1 \("!!!/)]);
    expect(corrupt.code).toBe(1);

    lab.ledger.plan({ point: 'vllm.sleep', kind: 'not-freed' });
    const held = await validate(config, { levels: '1,2', cycles: 1 }, { env: lab.env });
    expect(outcomes(held.report)).toEqual({ 1: 'failed', 2: 'passed' });
    expect(held.report.levels[0].reasons[0]).toMatch(/memory is not back: its processes still hold 14700 of 14700 MiB/);
    expect(held.report.levels[0].cycles[0].asleep.gpu_mib).toBe(14_700);
    expect(verdictsIn(folder)).toMatchObject([
      { level: 1, passed: false },
      { level: 2, passed: true },
    ]);

    // Serving obeys: the model goes one level deeper, and says so once.
    const catnap = await start(config, { env: lab.env });
    expect(fallsTo(catnap.log)).toEqual([expect.stringContaining('memory is not back'), '2']);
    const { sleep_level: level, verdicts } = await catnap.model('alpha');
    expect(level).toBe(2);
    expect(verdicts).toMatchObject([
      { level: 1, passed: false },
      { level: 2, passed: true },
    ]);
    const { out } = await run(['status', '--url', catnap.url]);
    expect(out).toMatch(/^alpha was validated: level 1 failed on .*memory is not back.*, level 2 works$/m);
    await catnap.chat('alpha');
    await catnap.chat('beta');
    expect(lab.ledger.events('called').some(({ detail }) => detail.startsWith('POST /sleep?level=2'))).toBe(true);
  });

  test('of a version that is known to free nothing fail when they are named, before any sleep', async ({
    expect,
    lab,
    validate,
  }) => {
    const config = { ...lab.root, models: { alpha: lab.vllm({ ...settings, version: '0.15.1' }) } };
    const named = await validate(config, { levels: '1', cycles: 1 }, { env: lab.env });
    expect(named.code).toBe(1);
    expect(named.report.levels[0]).toMatchObject({ fault: 'place', cycles: [] });
    expect(named.report.levels[0].reasons[0]).toMatch(/vLLM 0\.15\.1 cannot be put to level 1/);
  });

  test('are tried on the GPUs of their stage, and not at all where it names one that is not there', async ({
    expect,
    folder,
    validate,
  }) => {
    const lab = new Lab(folder, [4_000, 24_000]);
    const models = { alpha: lab.vllm(settings, { stage: 'right' }) };
    const on = (gpu: number) => ({ ...lab.root, stages: { left: { gpus: [0] }, right: { gpus: [gpu] } }, models });
    const { code, report } = await validate(on(1), { levels: '1', cycles: 1 }, { env: lab.env });
    expect([code, outcomes(report)]).toEqual([0, { 1: 'passed' }]);
    const absent = await validate(on(7), { levels: '1' }, { env: lab.env });
    expect([absent.code, absent.err]).toEqual([1, expect.stringContaining('stages.right.gpus names GPU 7')]);
  });

  test('that cannot start blame the engine, and nothing is held against a level', async ({
    expect,
    folder,
    lab,
    validate,
  }) => {
    lab.ledger.plan({ point: 'vllm.start', kind: 'missing' });
    const { code, report } = await validate(
      { ...lab.root, models: { alpha: lab.vllm(settings) } },
      { levels: '1,2', cycles: 1 },
      { env: lab.env },
    );
    expect(code).toBe(1);
    expect(report.levels.map(({ fault }: { fault: string }) => fault)).toEqual(['engine', 'engine']);
    expect(() => verdictsIn(folder)).toThrow('ENOENT');
  });
});

const Level = z.object({ level: z.union([z.number(), z.string()]), missing: z.array(z.string()) });
const Told = z.object({ models: z.array(z.object({ model: z.string(), levels: z.array(Level) })) });

describe('catnap doctor', () => {
  test('tells what the machine has and which levels can work, beside a catnap that serves', async ({
    expect,
    folder,
    lab,
    run,
    start,
  }) => {
    const models: ConfigInput['models'] = {
      alpha: lab.vllm({}, { sleep_level: 1 }),
      beta: { backend: 'stub' },
      both: lab.vllm({}, { extra_args: ['--tensor-parallel-size', '2', '--speculative-config', '{}'] }),
      gamma: lab.sglang({}, { sleep_level: 1 }),
    };
    await start({ ...lab.root, models }, { env: lab.env });
    const { code, out } = await run(['--config', configFile(folder), 'doctor', '--json'], { env: lab.env });
    const { well, findings, models: told } = JSON.parse(out);
    expect(findings).toContainEqual({
      what: 'GPU',
      state: 'good',
      says: expect.stringContaining('driver 580.95.05; NVIDIA Lab, '),
    });
    expect(findings).toContainEqual({
      what: 'state_dir',
      state: 'good',
      says: expect.stringContaining('in use by another catnap (process '),
    });
    expect(told[0]).toMatchObject({
      model: 'alpha',
      levels: [{ level: 1, state: 'possible', wanted: true }, {}, {}, {}, {}, {}],
    });
    // What its settings rule out is known before it is started.
    const { models: rows } = Told.parse(JSON.parse(out));
    const ruledOut = rows.map(({ model, levels }) => [
      model,
      levels.flatMap(({ level, missing: [why] }) => (why === undefined || level === 4 ? [] : [[level, why]])),
    ]);
    expect(Object.fromEntries(ruledOut)).toMatchObject({
      alpha: [],
      both: [
        [2, expect.stringContaining('draft model')],
        [3, expect.stringContaining('a checkpoint breaks')],
        ['hybrid', expect.stringContaining('needs --enforce-eager and --disable-custom-all-reduce')],
      ],
      gamma: [[2, expect.stringContaining('Set sleep_level to 2')]],
    });
    expect([well, code]).toEqual([true, 0]);
  });

  test('judges level 4 as the config has it: by its own way to empty the GPU, and by the verdict on that way', async ({
    expect,
    folder,
    lab,
    run,
    skip,
    validate,
  }) => {
    lab.useCriu(await requireCriu({ skip }));
    const models = { alpha: lab.vllm({}, { sleep_level: 4 }) };
    lab.ledger.plan({ point: 'criu.dump', kind: 'fail' });
    const whole = await validate({ ...lab.root, models }, { levels: '4full', cycles: 1 }, { env: lab.env });
    expect(outcomes(whole.report)).toEqual({ '4full': 'failed' });
    const doctor = async (more: ConfigInput['checkpoint']) => {
      const config = writeConfig(folder, { ...lab.root, checkpoint: { ...lab.root.checkpoint, ...more }, models });
      return (await run(['--config', config, 'doctor'], { env: lab.env })).out;
    };
    expect(await doctor({})).toMatch(/^ {2}-> level 4 +can work$/m);
    expect(await doctor({ sleep_first: 'none' })).toMatch(/^ {2}-> level 4 +cannot work: it failed its validation: /m);
    const plugin = await doctor({ cuda_driver: 'plugin', cuda_plugin_dir: folder });
    expect(plugin).toMatch(/^ {2}-> level 4 +cannot work: .*there is no cuda_plugin\.so in /m);
  });

  test('tells of a GPU that a stage names and that is not there', async ({ expect, folder, lab, run }) => {
    const stages = { left: { gpus: [0] }, right: { gpus: [7] } };
    const config = writeConfig(folder, { ...lab.root, stages, models: { alpha: lab.vllm({}, { stage: 'left' }) } });
    const { code, out } = await run(['--config', config, 'doctor'], { env: lab.env });
    expect(out).toMatch(/^BAD +stages +stages\.right\.gpus names GPU 7, and this machine has 0 \(GPU-lab-0\)$/m);
    expect(code).toBe(1);
  });

  test('ends with 1 when a model has no engine here', async ({ expect, folder, run }) => {
    const config = writeConfig(folder, { models: { alpha: { model_path: 'a/b', vllm_command: '/no/such/vllm' } } });
    const { code, out } = await run(['--config', config, 'doctor']);
    expect(out).toMatch(/^BAD +\/no\/such\/vllm +was not found \(for alpha\): install it, or set vllm_command$/m);
    expect(out).toMatch(/^ {2}-> level 5 +cannot work: \/no\/such\/vllm was not found$/m);
    expect(code).toBe(1);
  });
});
