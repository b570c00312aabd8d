import type { Refusal } from './envelope.ts';

/** A body on its way out, piece by piece, from its beginning. */
export interface Outflow {
  /** What comes next, as soon as there is some; undefined: nothing follows. It is good until the next call. Rejects with `Withheld`. */
  next(): Promise<readonly Buffer[] | undefined>;
  /** Nothing more is wanted of it. */
  close(): void;
}

/** A body as it is sent. */
export interface Body {
  /** Its length, which is announced. */
  readonly bytes: number;
  /** All of it, where it lies in memory. */
  readonly chunks: readonly Buffer[] | undefined;
  /** Whether `open` can be called only once, since what was sent is kept by nobody. */
  readonly once: boolean;
  open(): Outflow;
}

/** Why the rest of a body is not sent. */
export class Withheld extends Error {
  override readonly name = 'Withheld';
  readonly refusal: Refusal;
  constructor(refusal: Refusal, cause?: unknown) {
    super(refusal.message, { cause });
    this.refusal = refusal;
  }
}
