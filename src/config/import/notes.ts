import { isFields } from '../values.ts';

/** An object of a file that is read with care: nothing is known of what is in it. */
export type Fields = Readonly<Record<string, unknown>>;

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];

/** What could not be carried over, and why; in the order in which it was found, each once. */
export class Notes {
  readonly #lines = new Set<string>();

  add(path: string, message: string): void {
    this.#lines.add(`${path} ${message}`);
  }

  /** One note for each of these keys that somebody wrote. */
  unused(at: string, fields: Fields, reasons: Readonly<Record<string, string>>): void {
    for (const [key, reason] of Object.entries(reasons)) if (fields[key] !== undefined) this.add(`${at}${key}`, reason);
  }

  /** What is in an object beside the keys that are known. */
  unknown(at: string, fields: Fields, known: readonly string[]): void {
    for (const key of Object.keys(fields))
      if (!known.includes(key)) this.add(`${at}${key}`, 'is not known here and was left out');
  }

  get lines(): readonly string[] {
    return [...this.#lines];
  }
}
