import type { ErrorCode } from '../core/errors.ts';

/** Why somebody may not do what he asked for. */
export type Denial = {
  readonly code: ErrorCode;
  /** What to change, or when to come back. */
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
  /** What else the answer tells in its head. */
  readonly headers?: Readonly<Record<string, string>>;
};
