import { z } from 'zod';
import { CheckpointSchema, engineTimes, RestartSchema } from '../../src/config/engines-schema.ts';
import { EXAMPLE } from '../../src/config/example.ts';
import { DemoteSchema } from '../../src/config/demote-schema.ts';
import { HookSchema, HooksSchema } from '../../src/config/hooks-schema.ts';
import { BACKENDS } from '../../src/config/models/index.ts';
import { everyModel, supervised, swapped } from '../../src/config/models/shared.ts';
import { AliasSchema, naming } from '../../src/config/naming-schema.ts';
import { admittance, KeySchema } from '../../src/config/keys-schema.ts';
import { PolicySchema } from '../../src/config/policy-schema.ts';
import { keeping, listening, programs, requestLimits } from '../../src/config/server-schema.ts';
import { StageSchema } from '../../src/config/stages-schema.ts';
import { TlsSchema } from '../../src/config/tls-schema.ts';
import { code, page, table } from './markdown.ts';
import { defaultText, typeText, type JsonSchema } from './schema-text.ts';

type Shape = z.core.$ZodLooseShape;

/** docs/config.md: every key, section by section. */
export const configPage = (): string =>
  page(
    '# Config',
    INTRODUCTION,
    '```json\n' + JSON.stringify(EXAMPLE, null, 2) + '\n```',
    '`catnap config check` shows everything that is wrong with a config, and `catnap config schema` prints its JSON Schema, which `docs/config.schema.json` is as well.',
    ...section('Names', 'At the top level: what clients may call models besides their names.', naming),
    ...section('aliases', 'Each name is an object of these.', AliasSchema.shape, '###'),
    ...section('Listening', 'At the top level.', listening),
    ...section('Access', 'At the top level: who may use catnap.', admittance),
    ...section(
      'keys',
      'A list of these. [security.md](security.md) says who is trusted with what.',
      KeySchema.shape,
      '###',
    ),
    ...section('tls', 'An object of these.', TlsSchema.shape, '###'),
    ...section('Programs', 'At the top level.', programs),
    ...section('policy', 'Who is awake, and for how long others wait.', PolicySchema.shape),
    ...section(
      'stages',
      'An object: the names of the stages, and what each has. [scheduling.md](scheduling.md) has examples.',
      StageSchema.shape,
    ),
    ...section('Times of engines', 'At the top level, for models that say nothing else.', engineTimes),
    ...section('restart', 'How often and how soon a failed engine is tried again.', RestartSchema.shape),
    ...section('Requests', 'At the top level: what clients may send, and how slowly.', requestLimits),
    ...section('Logs and memory', 'At the top level.', keeping),
    ...section('checkpoint', 'Tools for sleep levels 3 and 4.', CheckpointSchema.shape),
    '## models',
    'An object: the names that clients ask for, and what stands behind each. `backend` decides which keys a model has.',
    table(
      ['`backend`', 'What it is'],
      Object.entries(BACKENDS).map(([name, schema]) => [code(name), z.globalRegistry.get(schema)?.description ?? '']),
    ),
    ...section('Every model', '', everyModel, '###'),
    ...section('Models that are put away', 'Every backend but `openai_remote`.', swapped, '###'),
    ...section('demote', 'A list of these, each later and deeper than the one before.', DemoteSchema.shape, '###'),
    ...section('hooks', 'An object of these, each of which is an object of its own.', HooksSchema.shape, '###'),
    ...section('each hook', 'Either `command` or `url`.', HookSchema.shape, '###'),
    ...section('Models with a process', '`vllm_serve`, `llama_server` and `command`.', supervised, '###'),
    ...Object.entries(BACKENDS).flatMap(([name, { shape }]) => section(name, '', own(shape), '###')),
  );

const INTRODUCTION = `catnap reads the files named by \`--config\`, or else \`config.json\`, \`config.yaml\` or \`config.yml\` in the folder it starts in. The ending says what a file is written in.

- Several \`--config\` are merged in order. \`X.local.json\` beside \`X.json\` is laid over it. Objects are merged key by key, anything else as a whole, and \`null\` takes a key away.
- Keys that end in \`_secs\` are seconds and may have fractions; \`_ms\` are milliseconds; sizes are in bytes unless the key says otherwise.
- An unknown key is an error. All problems are shown at once, and nothing is started.
- Paths are relative to the folder catnap starts in.

A small config:`;

/** The keys a backend has that are in no table above it. */
const own = (shape: Shape): Shape =>
  Object.fromEntries(
    Object.entries(shape).filter(([name]) => ![everyModel, swapped, supervised].some((others) => name in others)),
  );

function section(title: string, text: string, shape: Shape, level = '##'): string[] {
  const { properties = {}, required = [] }: JsonSchema = z.toJSONSchema(z.object(shape), { io: 'input' });
  const rows = Object.entries(properties).flatMap(([name, schema]) =>
    typeof schema === 'object' ? [row(name, schema, required.includes(name))] : [],
  );
  const heading = `${level} ${/^[a-z_]+$/.test(title) ? code(title) : title}`;
  return [heading, text, table(['Key', 'Type', 'Default', 'Meaning'], rows)].filter((part) => part !== '');
}

function row(name: string, schema: JsonSchema, required: boolean): string[] {
  const samples = Array.isArray(schema['samples']) ? schema['samples'] : [];
  const examples = samples.map((sample) => code(JSON.stringify(sample)));
  const meaning = [schema.description, examples.length === 0 ? '' : `For example ${examples.join(' or ')}.`];
  return [code(name), typeText(schema), required ? '*required*' : defaultText(schema), meaning.join(' ').trim()];
}
