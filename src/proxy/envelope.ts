import { ERRORS, type ErrorCode } from '../core/errors.ts';

/** The shape in which a client expects errors. */
export type Dialect = 'openai' | 'anthropic';

/** An answer of ours in place of the engine's. */
export type Refusal = {
  readonly code: ErrorCode;
  /** What to change, or when to come back. */
  readonly message: string;
  /** The field of the request that is at fault. */
  readonly param?: string;
  readonly retryAfterMs?: number | undefined;
  /** Whether trying again cannot help, although it often does with this code. */
  readonly lasting?: boolean;
  /** For 405: what the path may be asked with. */
  readonly allow?: string;
  /** What else the answer tells in its head. */
  readonly headers?: Readonly<Record<string, string>>;
};

export type Rendered = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** What a client is told that met a bug of ours. */
export const OUR_BUG: Refusal = {
  code: 'internal',
  message: 'A bug in catnap. Its log says more, under the request id.',
};

/** The whole answer to a refused request, without anything about the connection. */
export function renderRefusal(refusal: Refusal, dialect: Dialect, id: string): Rendered {
  const { status, retry } = ERRORS[refusal.code];
  const hopeless = !retry || refusal.lasting === true;
  const body = JSON.stringify(errorBody(refusal, dialect, id));
  return {
    status,
    body,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'x-request-id': id,
      'x-catnap-error': refusal.code,
      ...(hopeless && { 'x-should-retry': 'false' }),
      ...(refusal.retryAfterMs === undefined ? undefined : { 'retry-after': wholeSeconds(refusal.retryAfterMs) }),
      ...(refusal.allow === undefined ? undefined : { allow: refusal.allow }),
      ...refusal.headers,
    },
  };
}

/** The same as an event of a stream that has begun and cannot go on. */
export function renderErrorEvent(refusal: Refusal, dialect: Dialect, id: string): string {
  const event = dialect === 'anthropic' ? 'event: error\n' : '';
  return `${event}data: ${JSON.stringify(errorBody(refusal, dialect, id))}\n\n`;
}

function errorBody({ code, message, param }: Refusal, dialect: Dialect, id: string): object {
  const { status, type } = ERRORS[code];
  return dialect === 'anthropic'
    ? { type: 'error', error: { type: anthropicType(status), message }, request_id: id }
    : { error: { message, type, param: param ?? null, code } };
}

/** The kind of error that a status stands for in Anthropic's shape. */
export function anthropicType(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 403:
      return 'permission_error';
    case 404:
      return 'not_found_error';
    case 413:
      return 'request_too_large';
    case 429:
      return 'rate_limit_error';
    case 503:
      return 'overloaded_error';
    case 504:
      return 'timeout_error';
    default:
      return status < 500 ? 'invalid_request_error' : 'api_error';
  }
}

/** For `Retry-After`, which knows no fractions and in which 0 would mean at once. */
export const wholeSeconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1000)));
