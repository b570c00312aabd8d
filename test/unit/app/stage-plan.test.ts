import { describe, test } from 'vitest';
import { commandLimits } from '../../../src/app/stage-plan.ts';
import { goodConfig, onlyStage, problemsOf, warningsOf } from '../../helpers/config.ts';

const model = (more: object = {}) => ({ backend: 'stub', ...more });
const mib = (gpu_mib: number, more: object = {}) => model({ footprint: { gpu_mib }, ...more });

function room(config: object): string {
  const { capacity, models } = onlyStage(goodConfig(config));
  return `${models.map(({ cost }) => cost).join(' ')} of ${capacity}`;
}

describe('the room that models take', () => {
  test('is all of it, where nothing is declared', ({ expect }) => {
    const remote = { backend: 'openai_remote', url: 'http://127.0.0.1:1/v1' };
    expect(room({ models: { a: model(), b: model({ replicas: 2 }), r: remote } })).toBe('1 1 0 of 1');
  });

  test('is what each declares, for each of its replicas', ({ expect }) => {
    const models = { a: mib(900), b: mib(4_000, { replicas: 2 }), c: model(), cpu: mib(0) };
    expect(room({ gpu: { capacity_mib: 22_000 }, models })).toBe('900 8000 22000 0 of 22000');
  });

  test('is none for a model that takes no GPU memory, whatever there is', ({ expect }) => {
    expect(room({ models: { a: model(), cpu: mib(0) } })).toBe('1 0 of 1');
  });

  test('has to be there', ({ expect }) => {
    expect(problemsOf({ gpu: { capacity_mib: 8_000 }, models: { a: mib(5_000, { replicas: 2 }) } })).toEqual([
      expect.stringMatching(
        /^models.a.footprint.gpu_mib is 5000, 10000 for its 2 replicas, and gpu.capacity_mib is 8000/,
      ),
    ]);
  });

  test('means nothing without a capacity, which is said', ({ expect }) => {
    expect(warningsOf({ models: { a: mib(5_000), b: mib(0) } })).toEqual([
      expect.stringContaining('models.a.footprint has no effect, since gpu.capacity_mib is not set'),
    ]);
  });

  test('is written with the right words', ({ expect }) => {
    expect(problemsOf({ models: { a: model({ footprint: { gpu_mb: 5 } }) } })).toEqual(
      expect.arrayContaining([expect.stringContaining('Did you mean "gpu_mib"?')]),
    );
  });
});

test('a command of an engine has time for its hooks as well', ({ expect }) => {
  const hooks = { before_start: { command: ['x'], timeout_secs: 100 }, after_sleep: { url: 'http://127.0.0.1:1/x' } };
  const config = goodConfig({ models: { a: { model_path: 'x' }, b: { model_path: 'x', hooks } } });
  const [plain, hooked] = [config.models['a'], config.models['b']].map((one) => one && commandLimits(one, config));
  expect(hooked?.start).toBeGreaterThanOrEqual((plain?.start ?? 0) + 100_000);
  expect(hooked?.sleep).toBeGreaterThan(plain?.sleep ?? 0);
  expect([hooked?.wake, hooked?.stop]).toEqual([plain?.wake, plain?.stop]);
});
