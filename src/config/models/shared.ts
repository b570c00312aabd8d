import { z } from 'zod';
import { HooksSchema } from '../hooks-schema.ts';
import { demoteSteps } from '../demote-schema.ts';
import { aliasName, count, envValue, key, path, port, seconds, secret, sleepLevel, text } from '../fields.ts';
import { params } from '../params-schema.ts';

/** What a model is told to be able to do. */
const CapabilitiesSchema = z.strictObject({
  modalities: key(
    z
      .array(z.enum(['text', 'image']))
      .min(1)
      .max(2)
      .optional(),
    'What requests may hold.',
    { default_text: '`["text"]`' },
  ),
  multi_turn: key(z.boolean().optional(), 'Whether a request may hold a conversation.', {
    default_text: 'that of the backend',
  }),
  thinking_modes: key(
    z
      .array(z.enum(['default', 'enabled', 'disabled']))
      .min(1)
      .max(3)
      .optional(),
    'What `thinking` of a request may be.',
    { default_text: 'those of the backend' },
  ),
});

/** Keys that every model has, whatever serves it. */
export const everyModel = {
  enabled: key(
    z.boolean().default(true),
    'Whether requests wake this model. A disabled one is listed, and served once an operator has loaded it.',
  ),
  aliases: key(z.array(aliasName()).max(100).default([]), 'Other names clients may ask for. `*` stands for any text.', {
    examples: [['gpt-4o-mini', 'claude-haiku-*']],
  }),
  activation: key(
    z.enum(['on_demand', 'explicit']).default('on_demand'),
    '`on_demand`: a request wakes the model. `explicit`: only an operator does.',
  ),
  prompt_format: key(
    text().optional(),
    'What its prompts are: `generic`, `qwen3_template`, `gemma4_template`, `mistral_template` or `translategemma_template`. The engine builds them; this tells what the model can do. With the last, catnap builds the request that its template takes: see docs/admin.md.',
    { examples: ['qwen3_template'], default_text: "the engine's own template" },
  ),
  capabilities: key(
    CapabilitiesSchema.optional(),
    'What the model can do, where it is not what its backend and `prompt_format` suggest.',
  ),
  served_model_name: key(text().optional(), 'The name the engine knows the model by.', {
    default_text: "the model's own name",
  }),
  ...params,
  target_inflight: key(
    count(1, 10_000).optional(),
    'How many requests one engine of this model is given at a time. The rest wait.',
    { inherits: 'policy.target_inflight' },
  ),
  startup_timeout_secs: key(seconds(0.1).optional(), 'How long its start or its waking may take.', {
    inherits: 'startup_timeout_secs',
  }),
  response_timeout_secs: key(seconds(0.1).optional(), 'How long its engine may take to begin an answer.', {
    inherits: 'response_timeout_secs',
  }),
  idle_timeout_secs: key(
    seconds(0).optional(),
    'For how long its engine may pause in the middle of an answer. 0: for ever.',
    {
      inherits: 'idle_timeout_secs',
    },
  ),
  total_timeout_secs: key(seconds(0).optional(), 'How long one request may be served in all. 0: for ever.', {
    inherits: 'total_timeout_secs',
  }),
  stall_timeout_secs: key(
    seconds(0).optional(),
    'After how much silence, while it works on requests, its engine is asked for a sign of life. 0: never.',
    { inherits: 'stall_timeout_secs' },
  ),
};

/** How much an engine takes. */
export const FootprintSchema = z.strictObject({
  gpu_mib: key(
    count(0, 100_000_000).optional(),
    'GPU memory in MiB, with its KV cache. 0: none, so that the model needs no room, wakes when it is asked for and stays.',
    { default_text: 'what was seen when it loaded, or all there is' },
  ),
  host_mib: key(
    count(0, 1_000_000_000).optional(),
    'Main memory in MiB. It counts on stages with `host_capacity_mib`.',
    { default_text: 'all there is' },
  ),
});

/** Keys of models that catnap puts to sleep and wakes. */
export const swapped = {
  sleep_level: key(sleepLevel().optional(), 'How deep the model is put away when another is wanted.', {
    inherits: 'policy.sleep_level',
  }),
  levels_allowed: key(
    z.array(sleepLevel()).min(1).max(6).optional(),
    'The levels it may ever be put to; the engine is started ready for them. A sleep that fails goes on to the next deeper one of them, and 5 is always the last.',
    { examples: [[1, 5]], default_text: 'all that the engine can' },
  ),
  demote: key(
    demoteSteps().optional(),
    'How deep the model goes when nobody asks for it, step by step. An empty list: it stays.',
    { inherits: 'policy.demote', examples: [[{ after_secs: 600, level: 5 }]] },
  ),
  footprint: key(
    FootprintSchema.optional(),
    'What one engine of the model takes while it is awake. Where a capacity is known, models that fit beside each other are awake together.',
    { examples: [{ gpu_mib: 9_000 }], default_text: 'what was seen when it loaded, or all there is' },
  ),
  stage: key(text().optional(), 'The stage the model is on.', {
    examples: ['big'],
    default_text: 'the one where it fits best',
  }),
  keep: key(
    z.boolean().default(false),
    'Whether the model is never put away for another once it is awake. Its room is set aside for it.',
  ),
  exclusive: key(z.boolean().default(false), 'Whether nothing but models with `keep` is awake beside it on its stage.'),
  hooks: key(
    HooksSchema.optional(),
    'What is run at certain moments of its life: a command, or a call. See docs/sleep-levels.md.',
    { default_text: 'nothing' },
  ),
  replicas: key(count(1, 64).default(1), 'How many engines serve this model. They wake and go together.'),
  replica_max: key(count(1, 64).optional(), 'How many engines an operator may ask for when he loads it.', {
    default_text: '`replicas`',
  }),
};

const variableName = () =>
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable: letters, digits and _');

/** Keys of models whose server is a process that catnap starts. */
export const supervised = {
  port: key(port().optional(), 'The port the engine listens on, on 127.0.0.1.', { default_text: 'a free one' }),
  env: key(
    z.record(variableName(), envValue()).prefault({}),
    "More variables for the engine's environment. Their values print as `***`.",
    { examples: [{ HF_HOME: '/models/hf' }] },
  ),
  device: key(
    z
      .string()
      .regex(
        /^(auto|cuda|cpu|cuda:\d+(,\d+)*)$/,
        'must be "auto", "cuda", "cpu", or GPUs such as "cuda:0" or "cuda:0,1"',
      )
      .optional(),
    'Where it runs: `auto` or `cuda` leave the choice to the engine, `cuda:0,1` shows it these GPUs only, `cpu` none.',
    { examples: ['cuda:0'], default_text: '`auto`' },
  ),
  library_path: key(path().optional(), 'A folder of libraries for the engine, before those of the system.'),
  startup_stall_secs: key(seconds(0).optional(), 'A start that prints nothing for this long has failed. 0: never.', {
    inherits: 'startup_stall_secs',
  }),
  probe_timeout_secs: key(seconds(0.01, 60).optional(), 'How long one readiness probe may take.', {
    inherits: 'probe_timeout_secs',
  }),
  stop_grace_secs: key(
    seconds(0, 3_600).optional(),
    'How long the engine may take to end after SIGTERM, and again after the second one, before SIGKILL.',
    { inherits: 'stop_grace_secs' },
  ),
};

/** More arguments for engines whose command line catnap writes. */
export const extraArgs = (example: readonly string[]) => ({
  extra_args: key(
    z
      .array(z.string().refine((value) => !value.includes('\0'), 'must not contain a NUL character'))
      .max(1_000)
      .default([]),
    'More arguments for the engine. They win over those catnap sets itself.',
    { examples: [example] },
  ),
});

/** The key an engine asks for, from the one place that is most fitting. */
export const engineKey = (description: string) => ({
  api_key: key(secret().optional(), `${description} Prints as \`***\`.`),
  api_key_env: key(text().optional(), 'The environment variable that holds the key, in place of `api_key`.', {
    examples: ['EXAMPLE_API_KEY'],
  }),
  api_key_file: key(path().optional(), 'The file that holds the key, in place of `api_key`.', {
    examples: ['/run/secrets/example-api-key'],
  }),
});
