import { describe, test } from 'vitest';
import { changesOf, isNothing, restarts, type Changes } from '../../../../src/config/reload/changes.ts';
import { configFrom } from '../../../../src/config/load.ts';
import type { Config, ConfigInput, ModelInput } from '../../../../src/config/schema.ts';

const ALPHA = { backend: 'llama_server', model_path: '/m/alpha.gguf' } as const;
const BETA = { backend: 'stub' } as const;
const ENV = { HOME: '/home/somebody', OTHER: 'another-secret-of-somebody' };

function configOf(input: ConfigInput, env: Readonly<Record<string, string>> = ENV): Config {
  const loaded = configFrom(input, 'test', {}, env);
  if (loaded.kind !== 'loaded') throw new Error(JSON.stringify(loaded));
  return loaded.config;
}

const BASE: ConfigInput = { models: { alpha: ALPHA, beta: BETA } };
const from = (after: ConfigInput, before = BASE): Changes => changesOf(configOf(before), configOf(after));

describe('what another config changes', () => {
  test('the same again changes nothing, whatever order its keys are in', ({ expect }) => {
    const again = from({ models: { beta: BETA, alpha: { model_path: '/m/alpha.gguf', backend: 'llama_server' } } });
    expect(again).toMatchObject({ added: [], removed: [], changed: [], settings: [], fixed: [], unchanged: 2 });
    expect(isNothing(again)).toBe(true);
  });

  test('models come and go by their names', ({ expect }) => {
    const moved = from({ models: { beta: BETA, gamma: BETA } });
    expect(moved).toMatchObject({ added: ['gamma'], removed: ['alpha'], changed: [], unchanged: 1 });
    expect(isNothing(moved)).toBe(false);
  });

  const MODEL_KEYS = [
    [{ extra_args: ['--flash-attn'] as string[] }, 'extra_args', 'restart'],
    [{ model_path: '/m/other.gguf' }, 'model_path', 'restart'],
    [{ llama_server_n_ctx: 4096 }, 'llama_server_n_ctx', 'restart'],
    [{ port: 9001 }, 'port', 'restart'],
    [{ target_inflight: 2 }, 'target_inflight', 'restart'],
    [{ env: { A: 'b' } }, 'env', 'restart'],
    [{ api_key: 'a-key' }, 'api_key', 'restart'],
    [{ aliases: ['gpt-4o'] as string[] }, 'aliases', 'at_once'],
    [{ enabled: false }, 'enabled', 'at_once'],
    [{ set_params: { temperature: 0 } }, 'set_params', 'at_once'],
    [{ footprint: { gpu_mib: 10 } }, 'footprint', 'next_turn'],
    [{ stop_grace_secs: 1 }, 'stop_grace_secs', 'next_start'],
  ] satisfies readonly (readonly [Partial<ModelInput>, string, string])[];
  for (const [more, key, holds] of MODEL_KEYS) {
    test(`${key} of a model holds: ${holds}`, ({ expect }) => {
      const { changed, settings, fixed } = from({ models: { alpha: { ...ALPHA, ...more }, beta: BETA } });
      expect({ changed, settings, fixed }).toEqual({
        changed: [{ model: 'alpha', keys: [{ key, holds }] }],
        settings: [],
        fixed: [],
      });
      expect(changed.map(restarts)).toEqual([holds === 'restart']);
    });
  }

  const SETTING_KEYS = [
    [{ policy: { max_waiting: 5 } }, 'policy.max_waiting', 'at_once'],
    [{ policy: { policy_type: 'slack' } }, 'policy.policy_type', 'at_once'],
    [{ restart: { first_delay_secs: 2 } }, 'restart.first_delay_secs', 'at_once'],
    [{ cors_origins: ['https://a.example'] }, 'cors_origins', 'at_once'],
    [{ gpu: { free_timeout_secs: 3 } }, 'gpu.free_timeout_secs', 'next_start'],
    [{ preload: ['beta'] }, 'preload', 'next_catnap'],
    [{ aliases: { both: { models: ['alpha', 'beta'] } } }, 'aliases', 'at_once'],
  ] as const satisfies readonly (readonly [Partial<ConfigInput>, string, string])[];
  for (const [more, key, holds] of SETTING_KEYS) {
    test(`${key} holds: ${holds}`, ({ expect }) => {
      const { changed, settings, fixed } = from({ ...BASE, ...more });
      expect({ changed, settings, fixed }).toEqual({ changed: [], settings: [{ key, holds }], fixed: [] });
    });
  }

  const FIXED = [
    [{ port: 4000 }, ['port']],
    [{ host: '127.0.0.2' }, ['host']],
    [{ state_dir: '/elsewhere' }, ['state_dir']],
    [{ gpu: { capacity_mib: 10 } }, ['gpu.capacity_mib']],
    [{ checkpoint: { criu_path: '/criu' } }, ['checkpoint.criu_path']],
    [{ tls: { cert: '/c', key: '/k' }, metrics_port: 0 }, ['metrics_port', 'tls']],
  ] as const satisfies readonly (readonly [Partial<ConfigInput>, readonly string[]])[];
  for (const [more, keys] of FIXED) {
    test(`${keys.join(' and ')} cannot change`, ({ expect }) => {
      expect(from({ ...BASE, ...more }).fixed.toSorted()).toEqual(keys);
    });
  }

  test('other files of a certificate are no other kind of port', ({ expect }) => {
    const tls = { cert: '/c', key: '/k' };
    const { settings, fixed } = from({ ...BASE, tls: { ...tls, cert: '/other' } }, { ...BASE, tls });
    expect({ settings, fixed }).toEqual({ settings: [{ key: 'tls.cert', holds: 'at_once' }], fixed: [] });
  });

  test('what models inherit changes with them', ({ expect }) => {
    const { changed, settings } = from({ ...BASE, llama_server_command: '/opt/llama-server' });
    expect(changed).toEqual([{ model: 'alpha', keys: [{ key: 'llama_server_command', holds: 'restart' }] }]);
    expect(settings).toEqual([{ key: 'llama_server_command', holds: 'at_once' }]);
  });

  test('a secret is compared and never told', ({ expect }) => {
    const models = { alpha: { ...ALPHA, api_key_env: 'OTHER' }, beta: BETA };
    const keys = [{ name: 'ann', key_env: 'OTHER' }];
    const [before, after] = [
      configOf({ models, keys }),
      configOf({ models, keys }, { ...ENV, OTHER: 'hunter2hunter2hunter2' }),
    ];
    const changes = changesOf(before, after);
    expect(changes.changed).toEqual([{ model: 'alpha', keys: [{ key: 'api_key', holds: 'restart' }] }]);
    expect(changes.settings).toEqual([{ key: 'keys', holds: 'at_once' }]);
    expect(JSON.stringify(changes)).not.toMatch(/hunter|secret/);
  });
});
