import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { ERRORS, type ErrorCode } from '../core/errors.ts';

/** When to come back where nobody knows what ends first. */
const RETRY_SECS = '5';

/** An error of ours, in the shape OpenAI clients read. */
export function refuse(
  c: Context,
  code: ErrorCode,
  message: string,
  param: string | null = null,
  more: Readonly<Record<string, unknown>> = {},
): Response {
  const { status, type, retry } = ERRORS[code];
  c.header('x-catnap-error', code);
  if (!retry) c.header('x-should-retry', 'false');
  else if (status === 503) c.header('retry-after', RETRY_SECS);
  return c.json({ error: { message, type, param, code, ...more } }, status satisfies ContentfulStatusCode);
}
