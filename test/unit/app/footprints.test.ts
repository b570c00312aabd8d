import { readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import { Footprints, holdsOf, learnedFrom } from '../../../src/app/footprints.ts';
import type { Verdict } from '../../../src/ports/verdicts.ts';
import { folderWith, goodConfig, onlyStage } from '../../helpers/config.ts';

const config = (state_dir: string, more: object = {}) =>
  goodConfig({ state_dir, models: { a: { backend: 'stub', ...more }, b: { backend: 'stub' } } });

describe('what models were seen to take', () => {
  test('is known at the next start, as long as their settings are the same', async ({ expect }) => {
    using folder = folderWith({});
    const told: string[] = [];
    const warned = (message: string): void => void told.push(message);
    const first = await Footprints.open(config(folder.path), warned);
    expect(first.of('a')).toBe(undefined);
    first.saw('a', 8_000.2);
    first.saw('b', 500);
    await first.close();
    const next = await Footprints.open(config(folder.path, { start_ms: 5 }), warned);
    expect([next.of('a'), next.of('b'), next.of('c')]).toEqual([undefined, 500, undefined]);
    expect((await Footprints.open(config(folder.path), warned)).of('a')).toBe(8_001);
    expect(told).toEqual([]);
  });

  test('is seen anew when its file cannot be read', async ({ expect }) => {
    using folder = folderWith({ 'footprints.json': '{"version":1,"models":{"a":{"gpu_mib":-1,"settings":""}}}' });
    const told: string[] = [];
    const opened = await Footprints.open(config(folder.path), (message) => told.push(message));
    expect(opened.of('a')).toBe(undefined);
    expect(told).toEqual([expect.stringContaining('what models take cannot be read')]);
    opened.saw('a', 9);
    await opened.close();
    expect(readFileSync(folder.file('footprints.json'), 'utf8')).toContain('"gpu_mib": 9');
    writeFileSync(folder.file('footprints.json'), 'no json');
    expect((await Footprints.open(config(folder.path), (message) => told.push(message))).of('a')).toBe(undefined);
  });
});

describe('what models take that do not say it', () => {
  const seen = { gpu: 9_000, host: 2_000 };
  const verdict = (level: Verdict['level'], held: Verdict['held']): Verdict => ({
    model: 'alpha',
    level,
    passed: true,
    reason: '',
    at: new Date(0),
    identity: { backend: 'stub', settings: 's', program: undefined, version: undefined, driver: undefined },
    held,
  });
  const verdicts = new Map([
    [
      'alpha',
      [
        verdict(1, { awake: seen, asleep: { gpu: 700, host: 6_000 } }),
        verdict(2, { awake: seen, asleep: { gpu: 700, host: 900 } }),
        verdict(5, { awake: seen, asleep: { gpu: 0, host: 0 } }),
      ],
    ],
  ]);

  test('is what loads have shown, else what validations saw', ({ expect }) => {
    const loaded = learnedFrom({ of: () => 8_000 }, verdicts);
    expect([loaded('alpha', 'gpu'), loaded('alpha', 'host')]).toEqual([8_000, 2_000]);
    const learned = learnedFrom({ of: () => undefined }, verdicts);
    expect([learned('alpha', 'gpu'), learned('beta', 'gpu')]).toEqual([9_000, undefined]);
  });

  test('asleep is known of the levels that keep something in host memory', ({ expect }) => {
    expect(holdsOf(verdicts.get('alpha') ?? [])).toEqual({ 1: 6_000 });
    expect(holdsOf([])).toEqual({});
  });

  test('gives a model its room on a stage, and its sleeper its share of host memory', ({ expect }) => {
    const config = goodConfig({
      gpu: { capacity_mib: 20_000 },
      models: { alpha: { backend: 'stub' }, beta: { backend: 'stub' } },
    });
    const more = { learned: learnedFrom({ of: () => undefined }, verdicts), verdicts };
    const [alpha, beta] = onlyStage(config, more).models;
    expect(alpha).toMatchObject({ cost: 9_000, costEach: 9_000, needs: seen, costs: { holds: { 1: 6_000 } } });
    expect(beta).toMatchObject({ cost: 20_000, needs: undefined });
  });

  test('counts on a stage of main memory', ({ expect }) => {
    const config = goodConfig({
      stages: { cpu: { host_capacity_mib: 9_000 } },
      models: { alpha: { backend: 'stub' } },
    });
    const learned = learnedFrom({ of: () => 8_000 }, verdicts);
    expect(onlyStage(config, { learned }).models).toMatchObject([{ cost: 2_000 }]);
  });
});
