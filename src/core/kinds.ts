/** Words of the domain. Nothing in this room knows about I/O, a clock or a promise. */

declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** A name clients ask for. */
export type ModelId = Brand<string, 'ModelId'>;
/** One supervised server of a model: `alpha#0`. A model with replicas has several. */
export type EngineId = Brand<string, 'EngineId'>;
/** One request from its arrival to its settlement; its lease carries the same number. */
export type TicketId = Brand<number, 'TicketId'>;
/** Milliseconds on a clock that never goes back. */
export type Millis = Brand<number, 'Millis'>;

export const modelId = (value: string): ModelId => value as ModelId;
export const engineId = (model: ModelId, replica: number): EngineId => `${model}#${replica}` as EngineId;
export const ticketId = (value: number): TicketId => value as TicketId;
export const millis = (value: number): Millis => value as Millis;
export const after = (now: Millis, ms: number): Millis => (now + ms) as Millis;
export const FOREVER = Number.POSITIVE_INFINITY as Millis;

/** The earlier of two moments, either of which may not be set. */
export function soonest(a: Millis | undefined, b: Millis | undefined): Millis | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}

/** How deep an engine is put away; 5 is no process at all. docs/glossary.md has the table. */
export type SleepLevel = 1 | 2 | 3 | 4 | 'hybrid' | 5;
/** The levels that leave something to wake: everything but 5. */
export type NapLevel = Exclude<SleepLevel, 5>;

export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantBroken(message);
}

export function impossible(message: string): never {
  throw new InvariantBroken(message);
}

export function unreachable(value: never): never {
  throw new InvariantBroken(`unreachable: ${JSON.stringify(value)}`);
}

/** Our own bug. It is reported and ends the process; it is never caught and continued. */
export class InvariantBroken extends Error {
  override readonly name = 'InvariantBroken';
  constructor(message: string) {
    super(`invariant: ${message}`);
  }
}
