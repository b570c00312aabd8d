/** Where something stands in a body: `to` is the first byte after it. */
export type Range = { readonly from: number; readonly to: number };

export type Scan =
  /** Every place where the name stands, with what encloses it. */
  | { readonly kind: 'found'; readonly name: string; readonly at: readonly Range[] }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly problem: Problem };

export type Problem = { readonly code: 'invalid_request' | 'duplicate_model'; readonly message: string };

/** Finds the model that a body names while the body comes in, without keeping it. */
export interface NameScanner {
  /** The name, as soon as it was read for the first time. */
  readonly name: string | undefined;
  /** Whether the client asks for a stream in so many words; undefined where it says nothing. */
  readonly stream: boolean | undefined;
  /** The word that the client puts in `thinking`; undefined where it puts none, null, or an object. */
  readonly thinking: string | undefined;
  /** Set as soon as no continuation can make the body right. */
  readonly problem: Problem | undefined;
  /** Where the name stands, as far as it has come. */
  readonly at: readonly Range[];
  /** No mention that is still to come begins before this place. */
  readonly judged: number;
  feed(chunk: Buffer): void;
  /** The verdict, once the whole body was fed. */
  end(): Scan;
}

/** A body with more mentions of its model was not written by a client. */
export const MOST_MENTIONS = 16;

/** In bytes as they are written. */
export const LONGEST_NAME = 4_096;
