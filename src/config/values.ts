import type { Path } from './place.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Whether a value is an object with keys. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Lays one config over another: objects key by key, anything else as a whole; `null` takes a key away. */
export function merged(base: unknown, over: unknown): unknown {
  if (!isFields(over)) return over;
  const result: Record<string, unknown> = isFields(base) ? { ...base } : {};
  for (const [key, value] of Object.entries(over)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

/** What stands at a path of a value. */
export function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const step of path) {
    if (Array.isArray(at)) at = at[Number(step)];
    else if (isFields(at) && Object.hasOwn(at, step)) at = at[step];
    else return undefined;
  }
  return at;
}
