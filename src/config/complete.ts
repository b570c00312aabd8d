import { isAbsolute, join, resolve } from 'node:path';
import type { Finding } from './diagnostics.ts';
import { engineKeyOf, type Env } from './engine-key.ts';
import { keysOf } from './key-secrets.ts';
import type { Path } from './place.ts';
import type { Config, ConfigWritten, ModelConfig, ModelWritten } from './schema.ts';
import { levelInUse, levelsInUse } from './sleep-levels.ts';

type Completed = { readonly config: Config; readonly findings: readonly Finding[] };

/** Gives every model what it inherits, fetches keys and finds the state folder. */
export function completed({ $schema: _schema, ...written }: ConfigWritten, env: Env): Completed {
  const findings: Finding[] = [];
  const models: Record<string, ModelConfig> = {};
  for (const [name, model] of Object.entries(written.models)) {
    models[name] = completeModel(model, written, ['models', name], env, findings);
  }
  const state_dir = stateDir(written.state_dir, env, findings);
  const keys = keysOf(written.keys, env);
  findings.push(...keys.findings);
  return { config: { ...written, models, keys: keys.keys, state_dir }, findings };
}

function completeModel(model: ModelWritten, all: Defaults, at: Path, env: Env, findings: Finding[]): ModelConfig {
  switch (model.backend) {
    case 'vllm_serve': {
      const api_key = takeKey(model, at, env, findings);
      return {
        ...keyless(model),
        ...forProcess(model, all),
        api_key,
        vllm_command: model.vllm_command ?? all.vllm_command,
      };
    }
    case 'llama_server': {
      const api_key = takeKey(model, at, env, findings);
      const llama_server_command = model.llama_server_command ?? all.llama_server_command;
      return { ...keyless(model), ...forProcess(model, all), api_key, llama_server_command };
    }
    case 'llama_cpp': {
      const api_key = takeKey(model, at, env, findings);
      const llama_server_command = model.llama_server_command ?? all.llama_server_command;
      return { ...keyless(model), ...forProcess(model, all), api_key, llama_server_command };
    }
    case 'sglang': {
      const api_key = takeKey(model, at, env, findings);
      const sglang_command = model.sglang_command ?? all.sglang_command;
      return { ...keyless(model), ...forProcess(model, all), api_key, sglang_command };
    }
    case 'exllamav3': {
      const api_key = takeKey(model, at, env, findings);
      const exllamav3_command = model.exllamav3_command ?? all.exllamav3_command;
      return { ...keyless(model), ...forProcess(model, all), api_key, exllamav3_command };
    }
    case 'ct2':
      return { ...keyless(model), ...forProcess(model, all), api_key: takeKey(model, at, env, findings) };
    case 'command':
      return { ...keyless(model), ...forProcess(model, all), api_key: takeKey(model, at, env, findings) };
    case 'openai_remote':
      return {
        ...keyless(model),
        ...forAll(model, all),
        api_key: takeKey(model, at, env, findings),
        sleep_level: 5,
        levels_allowed: [5],
        demote: [],
        replicas: 1,
        replica_max: 1,
      };
    case 'stub':
      return { ...model, ...forAll(model, all), ...forSwapped(model, all) };
  }
}

type Defaults = ConfigWritten;
type Of<B extends ModelWritten['backend']> = Extract<ModelWritten, { readonly backend: B }>;

function forAll(model: ModelWritten, all: Defaults) {
  return {
    target_inflight: model.target_inflight ?? all.policy.target_inflight,
    startup_timeout_secs: model.startup_timeout_secs ?? all.startup_timeout_secs,
    response_timeout_secs: model.response_timeout_secs ?? all.response_timeout_secs,
    idle_timeout_secs: model.idle_timeout_secs ?? all.idle_timeout_secs,
    total_timeout_secs: model.total_timeout_secs ?? all.total_timeout_secs,
    stall_timeout_secs: model.stall_timeout_secs ?? all.stall_timeout_secs,
  };
}

function forSwapped(model: Exclude<ModelWritten, Of<'openai_remote'>>, all: Defaults) {
  const levels_allowed = levelsInUse(model.backend, model.levels_allowed);
  return {
    sleep_level: levelInUse(model.sleep_level ?? all.policy.sleep_level, levels_allowed),
    levels_allowed,
    demote: model.demote ?? all.policy.demote,
    replicas: model.replicas,
    replica_max: model.replica_max ?? model.replicas,
  };
}

function forProcess(model: Exclude<ModelWritten, Of<'openai_remote' | 'stub'>>, all: Defaults) {
  return {
    ...forAll(model, all),
    ...forSwapped(model, all),
    startup_stall_secs: model.startup_stall_secs ?? all.startup_stall_secs,
    probe_timeout_secs: model.probe_timeout_secs ?? all.probe_timeout_secs,
    stop_grace_secs: model.stop_grace_secs ?? all.stop_grace_secs,
  };
}

type Keyed = Exclude<ModelWritten, Of<'stub'>>;

/** Where the key came from is nobody's business any more. */
function keyless<M extends Keyed>({ api_key: _key, api_key_env: _env, api_key_file: _file, ...rest }: M) {
  return rest;
}

function takeKey(model: Keyed, at: Path, env: Env, findings: Finding[]) {
  const read = engineKeyOf(model, at, env);
  findings.push(...read.findings);
  return read.key;
}

function stateDir(written: string | undefined, env: Env, findings: Finding[]): string {
  if (written !== undefined) return resolve(written);
  const state = env['XDG_STATE_HOME'];
  if (state !== undefined && isAbsolute(state)) return join(state, 'catnap');
  const home = env['HOME'];
  if (home !== undefined && isAbsolute(home)) return join(home, '.local', 'state', 'catnap');
  findings.push({
    path: ['state_dir'],
    message: 'has no default here, since neither XDG_STATE_HOME nor HOME is set',
    fix: 'Name a folder that catnap may write to.',
  });
  return '';
}
