import { CONSTRAINTS, type Constraint } from './tables.ts';

/** One thing that is wrong with a body, and where. */
export type Detail = {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
};

/** What a load asks to be different for this once. A key that is there counts, also when its value is null. */
export type LoadOverride = Readonly<Record<string, string | number | null>>;

export type LoadBody = { readonly replicas: number | undefined; readonly override: LoadOverride };

type Read =
  | { readonly kind: 'read'; readonly body: LoadBody }
  | { readonly kind: 'bad'; readonly details: readonly Detail[] };

/** Every field of every backend: what its value must look like, before anybody asks whom it is for. */
const FIELDS: ReadonlyMap<string, Constraint> = new Map(
  Object.values(CONSTRAINTS).flatMap((constraints) => Object.entries(constraints)),
);

/**
 * Reads a load's body as far as that can be done without knowing the model: JSON, known names, types, and numbers that are no nonsense.
 * What is beyond that, such as bounds and steps, is the model's to judge.
 */
export function readLoadBody(text: string): Read {
  if (text.trim() === '') return { kind: 'read', body: { replicas: undefined, override: {} } };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const msg = `the body is no JSON: ${error instanceof Error ? error.message : String(error)}`;
    return { kind: 'bad', details: [{ loc: ['body'], msg, type: 'json_invalid' }] };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'bad', details: [{ loc: ['body'], msg: 'the body must be a JSON object', type: 'model_type' }] };
  }
  const details: Detail[] = [];
  const override: Record<string, string | number | null> = {};
  let replicas: number | undefined;
  for (const [name, given] of Object.entries(value)) {
    if (name === 'replicas') replicas = readReplicas(given, details);
    else readField(name, given, override, details);
  }
  return details.length > 0 ? { kind: 'bad', details } : { kind: 'read', body: { replicas, override } };
}

function readReplicas(given: unknown, details: Detail[]): number | undefined {
  if (given === null) return undefined;
  if (isWholeNumber(given) && given >= 1) return given;
  details.push(flaw('replicas', isWholeNumber(given) ? 'must be 1 or more' : 'must be a whole number', given));
  return undefined;
}

function readField(
  name: string,
  given: unknown,
  into: Record<string, string | number | null>,
  details: Detail[],
): void {
  const field = FIELDS.get(name);
  if (field === undefined) {
    details.push({ loc: ['body', name], msg: 'there is no such field', type: 'extra_forbidden' });
    return;
  }
  const wrong = given === null ? undefined : wrongWith(field, given);
  if (wrong !== undefined) details.push(flaw(name, wrong, given));
  else if (given === null || typeof given === 'string' || typeof given === 'number') into[name] = given;
}

function wrongWith({ kind }: Constraint, given: unknown): string | undefined {
  switch (kind) {
    case 'integer':
    case 'integer_or_null':
      if (!isWholeNumber(given)) return 'must be a whole number';
      return given >= 1 ? undefined : 'must be 1 or more';
    case 'float':
      if (typeof given !== 'number') return 'must be a number';
      return given >= 0 ? undefined : 'must be 0 or more';
    case 'enum':
    case 'string_or_null':
      if (typeof given !== 'string') return 'must be a text';
      return given === '' || given.includes('\0') ? 'must not be empty' : undefined;
  }
}

const TYPES: Readonly<Record<string, string>> = {
  'must be a whole number': 'int_type',
  'must be a number': 'float_type',
  'must be a text': 'string_type',
  'must not be empty': 'string_too_short',
};

const flaw = (name: string, msg: string, _given: unknown): Detail => ({
  loc: ['body', name],
  msg,
  type: TYPES[msg] ?? 'greater_than_equal',
});

const isWholeNumber = (value: unknown): value is number => Number.isSafeInteger(value);
