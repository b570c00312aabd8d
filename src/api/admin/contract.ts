import { z } from 'zod';

/** What the admin API answers. The server is checked against it in tests, the command line reads answers with it. */

const secs = z.number().nonnegative();

export const RuntimeState = z.enum(['unloaded', 'loading', 'loaded', 'unloading', 'failed']);
export type RuntimeState = z.infer<typeof RuntimeState>;

export const EngineRow = z.object({
  engine: z.string().meta({ description: 'The model and the number of the replica.' }),
  phase: z.string().meta({ description: 'What it is doing, in its own words.' }),
  phase_secs: secs.nullable().meta({ description: 'For how long; null when it does nothing.' }),
  pid: z.int().nullable(),
  port: z.int().nullable(),
});
export type EngineRow = z.infer<typeof EngineRow>;

const VerdictRow = z.object({
  level: z.union([z.int().min(1).max(5), z.literal(['hybrid', '4full'])]),
  passed: z.boolean().meta({ description: 'Whether the level worked. One that did not is not used.' }),
  reason: z.string().meta({ description: 'Why not; empty when it did.' }),
  at: z.iso.datetime(),
});

const PastFailure = z.object({
  at: z.iso.datetime(),
  during: z.string().meta({ description: 'What the engine was doing.' }),
  reason: z.string(),
  attempts: z.int().meta({ description: 'How many times in a row it had failed.' }),
});

export const ModelRow = z.object({
  name: z.string(),
  resolved_backend: z.string(),
  configured_enabled: z.boolean(),
  activation: z.enum(['on_demand', 'explicit']),
  aliases: z.array(z.string()),
  runtime_state: RuntimeState,
  is_loaded: z.boolean(),
  residency: z.string().meta({ description: 'Where the weights are, of the engine that holds the most.' }),
  sleep_level: z
    .union([z.int().min(1).max(5), z.literal('hybrid')])
    .meta({ description: 'How deep it is put away when another model is wanted.' }),
  replicas: z.int(),
  loaded_replicas: z.int(),
  runtime_inflight: z.int().meta({ description: 'Requests that its engines work on.' }),
  queue_depth: z.int().meta({ description: 'Requests that wait for it.' }),
  oldest_wait_secs: secs.nullable(),
  ready_in_secs: secs
    .nullable()
    .meta({ description: 'How long until it could serve if it were wanted now; null when that is not known.' }),
  last_error: z
    .string()
    .nullable()
    .meta({ description: 'Why it failed last, as long as it has not been started again since.' }),
  last_failure: PastFailure.nullable().meta({ description: 'The last failure, also after it has recovered.' }),
  engines: z.array(EngineRow),
  verdicts: z.array(VerdictRow).meta({
    description: 'What `--validate` found of its sleep levels, with the engine and the driver as they are now.',
  }),
});
export type ModelRow = z.infer<typeof ModelRow>;

const SwapNow = z.object({
  id: z.int(),
  to: z.string(),
  from: z.array(z.string()),
  since_secs: secs,
  expected_secs: secs.nullable().meta({ description: 'How much longer it should take; null when that is not known.' }),
});

export const ModelList = z.object({
  models: z.array(ModelRow),
  swap: SwapNow.nullable().meta({ description: 'The change of who is awake that is under way.' }),
  accepting: z.boolean().meta({ description: 'Whether requests are let in; false while catnap shuts down.' }),
  version: z.string(),
});
export type ModelList = z.infer<typeof ModelList>;

export const ErrorAnswer = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
});

/** The path of the list of models. */
export const MODELS_PATH = '/v1/admin/models';
