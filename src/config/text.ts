import type { Place } from './place.ts';

/** One text, read: its value, and where each path in it was written. */
export type Text = {
  readonly value: unknown;
  readonly places: ReadonlyMap<string, Place>;
  readonly faults: readonly Fault[];
};

/** What is wrong with a text as a text. */
export type Fault = { readonly place: Place; readonly message: string; readonly fix?: string | undefined };

export const TOO_DEEP = 'is nested too deeply';

/** The answer for a text that cannot be used. */
export const unusable = (...faults: readonly Fault[]): Text => ({ value: undefined, places: new Map(), faults });

/** Runs a recursive reader; a text that is nested deeper than the stack is a fault and not a crash. */
export function shallow(read: () => Text): Text {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return unusable({ place: { line: 1, column: 1 }, message: TOO_DEEP });
  }
}
