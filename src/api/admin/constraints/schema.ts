import { z } from 'zod';
import type { LoadOverride } from '../../../ports/load-override.ts';
import { CONSTRAINTS, type Constraint } from './tables.ts';
import { list } from './words.ts';

const NUMBER = 'must be a whole number';
const TEXT = 'must not be empty';

/** What a value must look like, whatever model it is for. Its bounds and steps are the model's to judge. */
function shapeOf({ kind }: Constraint) {
  switch (kind) {
    case 'integer':
    case 'integer_or_null':
      return whole;
    case 'float':
      return z.number('must be a number').min(0, 'must be 0 or more');
    case 'enum':
    case 'string_or_null':
      return z
        .string('must be a text')
        .min(1, TEXT)
        .regex(/^[^\0]*$/, TEXT);
  }
}

const whole = z.int(NUMBER).min(1, 'must be 1 or more');

/** Every field that any backend takes. A key that is there counts, also when its value is null. */
const fields = Object.fromEntries(
  Object.entries(CONSTRAINTS).flatMap(([, constraints]) =>
    Object.entries(constraints).map(([name, constraint]) => {
      const backends = Object.keys(CONSTRAINTS).filter((backend) => name in (CONSTRAINTS[backend] ?? {}));
      const description = `For models of ${list(backends)}; the bounds are in \`load_constraints\`.`;
      return [name, shapeOf(constraint).nullable().optional().meta({ description })];
    }),
  ),
);

/** The body of a load, as far as it can be judged without knowing the model: known names, types, and numbers that are no nonsense. */
export const LoadRequest = z
  .strictObject({
    replicas: whole.nullable().optional().meta({ description: 'How many engines it is to come with this time.' }),
    ...fields,
  })
  .meta({ description: 'Changes one load. The fields that a model takes are those of its `load_constraints`.' });

/** One thing that is wrong with a body, and where. */
export const Detail = z.object({
  loc: z.array(z.union([z.string(), z.int()])),
  msg: z.string(),
  type: z.string(),
});
export type Detail = z.infer<typeof Detail>;

export type LoadBody = { readonly replicas: number | undefined; readonly override: LoadOverride };

type Read =
  | { readonly kind: 'read'; readonly body: LoadBody }
  | { readonly kind: 'bad'; readonly details: readonly Detail[] };

/** Reads a load's body. One that is empty asks for nothing in particular. */
export function readLoadBody(text: string): Read {
  if (text.trim() === '') return { kind: 'read', body: { replicas: undefined, override: {} } };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const msg = `the body is no JSON: ${error instanceof Error ? error.message : String(error)}`;
    return { kind: 'bad', details: [{ loc: ['body'], msg, type: 'json_invalid' }] };
  }
  const read = LoadRequest.safeParse(value);
  if (!read.success) return { kind: 'bad', details: read.error.issues.flatMap(detailsOf) };
  const { replicas, ...given } = read.data;
  const override = Object.entries(given).flatMap(([name, field]) => (field === undefined ? [] : [[name, field]]));
  return { kind: 'read', body: { replicas: replicas ?? undefined, override: Object.fromEntries(override) } };
}

const TYPES: Readonly<Record<string, string>> = {
  [NUMBER]: 'int_type',
  'must be a number': 'float_type',
  'must be a text': 'string_type',
  [TEXT]: 'string_too_short',
};

function detailsOf(issue: z.core.$ZodIssue): Detail[] {
  if (issue.code === 'unrecognized_keys') {
    const type = 'extra_forbidden';
    return issue.keys.map((name) => ({ loc: ['body', name], msg: 'there is no such field', type }));
  }
  const [name] = issue.path;
  if (name === undefined) return [{ loc: ['body'], msg: 'the body must be a JSON object', type: 'model_type' }];
  return [{ loc: ['body', String(name)], msg: issue.message, type: TYPES[issue.message] ?? 'greater_than_equal' }];
}
