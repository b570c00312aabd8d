import { describe, test } from 'vitest';
import { freezesAt, notFrozen } from '../../../src/app/freezing.ts';
import type { ConfigInput } from '../../../src/config/schema.ts';
import type { TrialLevel } from '../../../src/ports/verdicts.ts';
import { goodConfig, warningsOf } from '../../helpers/config.ts';

const alpha = { backend: 'llama_server', model_path: 'a.gguf' } as const;
const passed = (...levels: TrialLevel[]) => levels.map((level) => ({ level, passed: true }));

function asked(more: object = {}, policy: ConfigInput['policy'] = { policy_type: 'slack' }) {
  const config = goodConfig({ experimental: { freeze_drain: true }, policy, models: { alpha: { ...alpha, ...more } } });
  const model = config.models['alpha'];
  if (model === undefined) throw new Error('there is no alpha');
  return { config, model };
}

describe('the level at which a model makes room with requests in flight', () => {
  test('is the lightest that its validation passed so', ({ expect }) => {
    const { config, model } = asked();
    expect(freezesAt(config, model, passed('3f', '4f'))).toBe(3);
    expect(freezesAt(config, model, passed('4f'))).toBe(4);
    expect(freezesAt(config, model, [{ level: '3f', passed: false }, ...passed('4f')])).toBe(4);
  });

  test('is none for a level that passed by itself alone, or that is not allowed', ({ expect }) => {
    const { config, model } = asked();
    expect(freezesAt(config, model, passed(3, 4))).toBeUndefined();
    const only = asked({ levels_allowed: [4, 5] });
    expect(freezesAt(only.config, only.model, passed('3f'))).toBeUndefined();
  });

  test('is none under another policy, without the switch, or with several engines', ({ expect }) => {
    for (const { config, model } of [
      asked({}, {}),
      asked({ replicas: 2 }),
      asked({}, { policy_type: 'slack', drain_before_switch: false }),
    ])
      expect(freezesAt(config, model, passed('3f', '4f'))).toBeUndefined();
    const { config, model } = asked();
    expect(freezesAt({ ...config, experimental: { freeze_drain: false } }, model, passed('3f'))).toBeUndefined();
  });

  test('is asked for in vain, which is told', ({ expect }) => {
    const { config, model } = asked();
    expect(notFrozen(config, model, passed('4f'))).toBeUndefined();
    expect(notFrozen(config, model, [])).toBe(
      'no validation has passed it yet (catnap --validate MODEL --levels 3f,4f)',
    );
    const several = asked({ replicas: 2 });
    expect(notFrozen(several.config, several.model, passed('4f'))).toBe('it has several engines');
    const none = asked({ levels_allowed: [5] });
    expect(notFrozen(none.config, none.model, [])).toBe('it can be suspended at neither level 3 nor level 4');
    expect(warningsOf({ experimental: { freeze_drain: true }, models: { alpha } })).toEqual([
      expect.stringContaining('experimental.freeze_drain has no effect: it needs "policy_type": "slack"'),
    ]);
  });
});
