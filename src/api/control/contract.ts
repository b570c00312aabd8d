import { z } from 'zod';

/** What the control API is asked and answers: the shapes of llmux 0.5. */

const ControlLevel = z.union([z.literal([1, 2, 3, 4, 5]), z.literal('hybrid')], {
  error: 'must be 1, 2, 3, 4, 5 or "hybrid"',
});

const model = z.string({ error: 'must be the name of a model' }).min(1, 'must be the name of a model');

export const ModeBody = z.strictObject({
  mode: z.enum(['auto', 'manual'], { error: 'must be "auto" or "manual"' }),
});
export const ModelBody = z.strictObject({ model });
/** With null: as the config says again. */
export const LevelBody = z.strictObject({ model, level: ControlLevel.nullable().optional() });

const depth = {
  effective_level: ControlLevel.meta({ description: 'How deep it is put away.' }),
  level_override: ControlLevel.nullable().meta({
    description: 'The same where an operator has set it, until he takes it back; null: it is what the config says.',
  }),
};

export const ControlStatus = z.object({
  state: z.string().meta({ description: '`idle`, `active:MODEL` or `switching:MODEL->MODEL`.' }),
  active_model: z.string().nullable(),
  mode: z.object({
    mode: z.enum(['auto', 'manual']),
    pinned: z.string().optional().meta({ description: 'The model that requests may bring in, in manual mode.' }),
  }),
  stages: z
    .record(
      z.string(),
      z.object({
        state: z.string(),
        active_models: z.array(z.string()),
        mode: z.enum(['auto', 'manual']),
        pinned: z.string().optional(),
      }),
    )
    .meta({ description: 'The same for each stage. A pin holds for the stage of its model alone.' }),
  models: z.record(
    z.string(),
    z.object({
      in_flight: z.int(),
      queue_depth: z.int(),
      ...depth,
      process_state: z.string().meta({
        description:
          '`not_started`, `starting`, `running`, `stopping`, `sleeping:LEVEL`, `checkpointed`, or `failed:` and why.',
      }),
    }),
  ),
});
export type ControlStatus = z.infer<typeof ControlStatus>;

export const SleepLevels = z.object({
  models: z.record(z.string(), z.object({ ...depth, process_state: z.string() })),
});
export type SleepLevels = z.infer<typeof SleepLevels>;

export const CONTROL_PATH = '/control';
