import type { Config } from '../schema.ts';
import { Secret } from '../secret.ts';
import { isFields } from '../values.ts';
import { momentOf, SETTINGS, type Moment, type When } from './moments.ts';

/** A key that has another value, and from when on it holds. */
export type Change = { readonly key: string; readonly holds: Moment };

export type ModelChange = { readonly model: string; readonly keys: readonly Change[] };

/** What another config would change in a running catnap. Names alone: no value is told. */
export type Changes = {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly ModelChange[];
  /** How many models stay as they are. */
  readonly unchanged: number;
  readonly settings: readonly Change[];
  /** What cannot be changed as long as catnap runs. */
  readonly fixed: readonly string[];
};

export function changesOf(before: Config, after: Config): Changes {
  const names = Object.keys(after.models);
  const added = names.filter((name) => !Object.hasOwn(before.models, name));
  const removed = Object.keys(before.models).filter((name) => !Object.hasOwn(after.models, name));
  const changed: ModelChange[] = [];
  const { settings, fixed } = changedSettings(before, after);
  for (const name of [...added.filter((one) => isKept(after, one)), ...removed.filter((one) => isKept(before, one))]) {
    fixed.push(`models.${name}.keep`);
  }
  for (const [name, model] of Object.entries(after.models)) {
    const old = Object.hasOwn(before.models, name) ? before.models[name] : undefined;
    const keys: Change[] = [];
    for (const key of old === undefined ? [] : differing(old, model)) {
      const holds = isKept(after, name) && ROOM.includes(key) ? 'never' : momentOf(model.backend, key);
      if (holds === 'never') fixed.push(`models.${name}.${key}`);
      else keys.push({ key, holds });
    }
    if (keys.length > 0) changed.push({ model: name, keys });
  }
  return { added, removed, changed, unchanged: names.length - added.length - changed.length, settings, fixed };
}

/** Whether its engine has to be started anew. */
export const restarts = ({ keys }: ModelChange): boolean => keys.some(({ holds }) => holds === 'restart');

export const isNothing = ({ added, removed, changed, settings, fixed }: Changes): boolean =>
  added.length + removed.length + changed.length + settings.length + fixed.length === 0;

/** Room is set aside for it when catnap starts. */
const isKept = ({ models }: Config, name: string): boolean => fieldsOf(models[name] ?? {}).get('keep') === true;

/** What says how much of it. */
const ROOM: readonly string[] = ['footprint', 'replicas', 'replica_max'];

function changedSettings(before: Config, after: Config): { readonly settings: Change[]; readonly fixed: string[] } {
  const settings: Change[] = [];
  const fixed: string[] = [];
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  for (const [key, when] of Object.entries<When | Readonly<Record<string, When>>>(SETTINGS)) {
    for (const part of changedParts(key, old.get(key), now.get(key))) {
      // What is there as a whole or not at all is no change of its parts.
      const holds = typeof when === 'string' ? when : (when[part.slice(key.length + 1)] ?? 'never');
      if (holds === 'never') fixed.push(part);
      else settings.push({ key: part, holds });
    }
  }
  return { settings, fixed };
}

/** `policy.max_waiting` and the like; the key itself where one side has nothing there, or it has no parts of its own. */
function changedParts(key: string, before: unknown, after: unknown): string[] {
  if (isSame(before, after)) return [];
  if (!isFields(before) || !isFields(after) || key === 'aliases') return [key];
  return differing(before, after).map((part) => `${key}.${part}`);
}

export function differing(before: object, after: object): string[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  const keys = new Set([...old.keys(), ...now.keys()]);
  return [...keys].filter((key) => !isSame(old.get(key), now.get(key))).toSorted();
}

const fieldsOf = (value: object): ReadonlyMap<string, unknown> => new Map<string, unknown>(Object.entries(value));

/** By value; a secret by what it hides. What is absent is the same as what is not there. */
function isSame(a: unknown, b: unknown): boolean {
  if (a instanceof Secret || b instanceof Secret) {
    return a instanceof Secret && b instanceof Secret && a.reveal() === b.reveal();
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, at) => isSame(item, b[at]));
  }
  if (isFields(a) && isFields(b)) return differing(a, b).length === 0;
  return Object.is(a, b);
}
