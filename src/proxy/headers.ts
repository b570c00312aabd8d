import type { IncomingMessage } from 'node:http';
import { WISHES } from './wishes.ts';

/** Names and values in turn, as they stand on the wire. */
export type FlatHeaders = readonly string[];

/** About one connection and not about the message (RFC 9110, 7.6.1). */
const HOP_BY_HOP = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
];

/**
 * What of a request is not the engine's: who the client is, what we write ourselves, what it wishes of us, and `x-conversation-id`,
 * with which llama-server goes on generating after its client has left.
 */
const NOT_FOR_ENGINES = [
  'api-key',
  'authorization',
  'content-encoding',
  'content-length',
  'cookie',
  'expect',
  'host',
  'x-api-key',
  ...WISHES,
  'x-conversation-id',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-request-id',
];

const REQUEST_DROPS: ReadonlySet<string> = new Set([...HOP_BY_HOP, ...NOT_FOR_ENGINES]);
/** Who may read an answer is for us to say; llama-server allows every page of every origin. */
const CORS = [
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
  'access-control-allow-private-network',
  'access-control-expose-headers',
  'access-control-max-age',
];

const ANSWER_DROPS: ReadonlySet<string> = new Set([...HOP_BY_HOP, ...CORS, 'x-request-id']);
const NONE: ReadonlySet<string> = new Set();

export type Sent = {
  readonly id: string;
  /** The backend's own, in place of the client's. */
  readonly own: Readonly<Record<string, string>>;
  /** Undefined where no body is sent. */
  readonly contentLength: number | undefined;
};

/** The head of the request as the engine gets it. `host` and `connection` are the connection's. */
export function headersForEngine(req: IncomingMessage, { id, own, contentLength }: Sent): string[] {
  const ours = Object.entries(own);
  const kept = keep(req.rawHeaders, REQUEST_DROPS, new Set(ours.map(([name]) => name.toLowerCase())));
  for (const [name, value] of [...ours, ...forwarded(req)]) kept.push(name, value);
  kept.push('x-request-id', id);
  if (contentLength !== undefined) kept.push('content-length', String(contentLength));
  return kept;
}

/** Who asked, for the engine's log: what earlier proxies said, and the client we see. */
export function forwarded({ headers, socket }: IncomingMessage): [name: string, value: string][] {
  const before = headers['x-forwarded-for'];
  const peer = socket.remoteAddress ?? 'unknown';
  return [
    ['x-forwarded-for', before === undefined ? peer : `${String(before)}, ${peer}`],
    ['x-forwarded-host', String(headers['x-forwarded-host'] ?? headers.host ?? '')],
    ['x-forwarded-proto', String(headers['x-forwarded-proto'] ?? ('encrypted' in socket ? 'https' : 'http'))],
  ];
}

/** Whether a header of a request is not for engines. The name in lower case. */
export const staysHere = (name: string): boolean => NOT_FOR_ENGINES.includes(name);

/** The head of the answer as the client gets it. */
export function headersForClient(raw: FlatHeaders, id: string, timing: Timing): string[] {
  const kept = keep(raw, ANSWER_DROPS, NONE);
  kept.push('x-request-id', id, 'server-timing', serverTiming(timing));
  return kept;
}

export type Timing = { readonly queueMs: number; readonly swapMs: number; readonly engineMs: number };

/** The three parts add up to the time from the arrival in the lane to the head of the engine's answer. */
export function serverTiming({ queueMs, swapMs, engineMs }: Timing): string {
  return `queue;dur=${tenths(queueMs)}, swap;dur=${tenths(swapMs)}, engine;dur=${tenths(engineMs)}`;
}

/** The first value of a header; `wanted` in lower case. */
export function headerOf(raw: FlatHeaders, wanted: string): string | undefined {
  for (let i = 0; i < raw.length; i += 2) if (raw[i]?.toLowerCase() === wanted) return raw[i + 1];
  return undefined;
}

/** All of its values. */
export const headersOf = (raw: FlatHeaders, wanted: string): string[] =>
  raw.filter((_, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === wanted);

function keep(raw: FlatHeaders, drops: ReadonlySet<string>, more: ReadonlySet<string>): string[] {
  const named = connectionNamed(raw);
  const kept: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    const lower = name.toLowerCase();
    if (!drops.has(lower) && !more.has(lower) && !named.has(lower)) kept.push(name, raw[i + 1] ?? '');
  }
  return kept;
}

/** What `Connection` names is hop-by-hop as well. */
function connectionNamed(raw: FlatHeaders): ReadonlySet<string> {
  const named = new Set<string>();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() !== 'connection') continue;
    for (const token of (raw[i + 1] ?? '').split(',')) named.add(token.trim().toLowerCase());
  }
  return named;
}

const tenths = (ms: number): string => String(Math.round(ms * 10) / 10);
