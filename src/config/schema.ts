import { z } from 'zod';
import type { SleepLevel } from '../core/kinds.ts';
import { CheckpointSchema, engineTimes, GpuSchema, RestartSchema } from './engines-schema.ts';
import { ExperimentalSchema } from './experimental-schema.ts';
import { key, type Argv } from './fields.ts';
import { admittance, type KeyWritten } from './keys-schema.ts';
import { ModelsSchema, type BACKENDS } from './models/index.ts';
import { naming } from './naming-schema.ts';
import { PolicySchema } from './policy-schema.ts';
import { PrefetchSchema } from './prefetch-schema.ts';
import type { Secret } from './secret.ts';
import { keeping, listening, programs, requestLimits } from './server-schema.ts';
import { stageName, StageSchema } from './stages-schema.ts';

/** The one description of the config: types, defaults, docs, JSON Schema and the example come from it. */
export const ConfigSchema = z.strictObject({
  $schema: key(z.string().optional(), 'For editors. catnap does not read it.'),
  models: key(ModelsSchema, 'The models, by the names clients ask for.'),
  ...naming,
  ...listening,
  ...admittance,
  ...programs,
  policy: key(PolicySchema.prefault({}), 'Who is awake, and for how long others wait.'),
  stages: key(
    z.record(stageName(), StageSchema).optional(),
    'Sets of hardware, each with models of its own that never wait for those of another. Each is an object as below.',
    { default_text: 'one, with `gpu.capacity_mib`' },
  ),
  prefetch: key(PrefetchSchema.prefault({}), 'What is read ahead for the model that comes next.'),
  ...engineTimes,
  restart: key(RestartSchema.prefault({}), 'How often and how soon a failed engine is tried again.'),
  ...requestLimits,
  ...keeping,
  watch_config: key(
    z.boolean().default(false),
    'Whether catnap reads its config again when one of its files has changed, as `catnap reload` makes it do.',
  ),
  gpu: key(GpuSchema.prefault({}), 'How memory of GPUs is read.'),
  experimental: key(ExperimentalSchema.prefault({}), 'Off unless asked for, and may change.'),
  checkpoint: key(CheckpointSchema.prefault({}), 'Tools for sleep levels 3 and 4.'),
});

/** What people write. */
export type ConfigInput = z.input<typeof ConfigSchema>;
export type ModelInput = ConfigInput['models'][string];
/** What they wrote, with defaults, before models have taken what they inherit. */
export type ConfigWritten = z.output<typeof ConfigSchema>;
export type ModelWritten = ConfigWritten['models'][string];

type Written<B extends keyof typeof BACKENDS> = z.output<(typeof BACKENDS)[B]>;

/** What every model has in the end, whatever serves it. */
type Taken = {
  sleep_level: SleepLevel;
  levels_allowed: readonly SleepLevel[];
  demote: readonly { readonly after_secs: number; readonly level: SleepLevel }[];
  replicas: number;
  replica_max: number;
  target_inflight: number;
  startup_timeout_secs: number;
  response_timeout_secs: number;
  idle_timeout_secs: number;
  total_timeout_secs: number;
  stall_timeout_secs: number;
};

/** What models with a process of their own have besides. */
type TakenByProcess = Taken & { startup_stall_secs: number; probe_timeout_secs: number; stop_grace_secs: number };

type Complete<T, More> = DeepReadonly<Omit<T, keyof More | 'api_key' | 'api_key_env' | 'api_key_file'> & More>;
/** The key itself, wherever it was written. */
type WithKey = { api_key: Secret | undefined };

export type VllmServeModel = Complete<Written<'vllm_serve'>, TakenByProcess & WithKey & { vllm_command: Argv }>;
export type LlamaServerModel = Complete<
  Written<'llama_server'>,
  TakenByProcess & WithKey & { llama_server_command: Argv }
>;
export type LlamaCppModel = Complete<Written<'llama_cpp'>, TakenByProcess & WithKey & { llama_server_command: Argv }>;
export type SglangModel = Complete<Written<'sglang'>, TakenByProcess & WithKey & { sglang_command: Argv }>;
export type Exllamav3Model = Complete<Written<'exllamav3'>, TakenByProcess & WithKey & { exllamav3_command: Argv }>;
export type Ct2Model = Complete<Written<'ct2'>, TakenByProcess & WithKey>;
export type CommandModel = Complete<Written<'command'>, TakenByProcess & WithKey>;
export type OpenaiRemoteModel = Complete<Written<'openai_remote'>, Taken & WithKey>;
export type StubModel = Complete<Written<'stub'>, Taken>;

/** One model, complete: what it did not say itself it has taken from where it inherits. */
export type ModelConfig = ProcessModel | OpenaiRemoteModel | StubModel;
export type Backend = ModelConfig['backend'];
/** The models whose server is a process that catnap starts. */
export type ProcessModel =
  | VllmServeModel
  | LlamaServerModel
  | LlamaCppModel
  | SglangModel
  | Exllamav3Model
  | Ct2Model
  | CommandModel;

/** One key of a client, wherever its secret was written. */
export type KeyConfig = DeepReadonly<
  Omit<KeyWritten, 'hash' | 'key_env' | 'key_file'> & {
    /** The key itself, or its hash. */
    secret: { kind: 'plain' | 'hash'; value: Secret };
  }
>;

/** What the code gets: complete and frozen, in the words of the file. */
export type Config = DeepReadonly<
  Omit<ConfigWritten, 'models' | 'keys' | 'state_dir' | '$schema'> & {
    state_dir: string;
    models: Record<string, ModelConfig>;
    keys: KeyConfig[];
  }
>;

/** What one name of several models is. */
export type AliasConfig = Config['aliases'][string];

type DeepReadonly<T> = unknown extends T
  ? T
  : T extends Secret | string | number | boolean | null | undefined
    ? T
    : { readonly [K in keyof T]: DeepReadonly<T[K]> };
