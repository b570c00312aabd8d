import { Client } from 'undici';
import { after } from '../core/kinds.ts';
import type { EngineAnswer, EngineCall, EngineHttp } from '../ports/engine-http.ts';
import { systemClock } from './system-clock.ts';
import { codeOf } from './system-error.ts';

/** As much of a body is read; the rest is not waited for. */
const BODY_LIMIT = 64 * 1024;

const clock = systemClock();

/**
 * Control calls over undici. Each has a connection of its own that is destroyed with the call, so nothing of a call is left
 * when it has been answered: a kept connection would meet another process after a restart, and would hold up a stop.
 */
export function engineHttp(): EngineHttp {
  return { call };
}

async function call(terms: EngineCall): Promise<EngineAnswer> {
  const over = new AbortController();
  const giveUp = () => over.abort();
  let late = false;
  const cancel = clock.at(after(clock.now(), terms.limitMs), () => {
    late = true;
    giveUp();
  });
  terms.signal?.addEventListener('abort', giveUp, { once: true });
  if (terms.signal?.aborted === true) giveUp();
  try {
    return await exchange(terms, over);
  } catch (error) {
    if (late) return { kind: 'timeout' };
    return { kind: 'refused', reason: terms.signal?.aborted === true ? 'the call was given up' : inWords(error) };
  } finally {
    cancel();
    terms.signal?.removeEventListener('abort', giveUp);
  }
}

async function exchange(
  { method, url, headers, json, onLine }: EngineCall,
  over: AbortController,
): Promise<EngineAnswer> {
  over.signal.throwIfAborted();
  const { origin, pathname, search } = new URL(url);
  // Our own limit covers everything. The signal ends a connection that is still being made, which the client waits for.
  // Nothing may be sent to an engine that is on disk with a call in flight.
  const connect = { signal: over.signal, timeout: 0, keepAlive: false };
  const client = new Client(origin, { connect, pipelining: 0, headersTimeout: 0, bodyTimeout: 0 });
  const hangUp = () => void client.destroy();
  over.signal.addEventListener('abort', hangUp, { once: true });
  try {
    const { statusCode, body } = await client.request({
      method,
      path: `${pathname}${search}`,
      headers: { ...(json === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: json === undefined ? null : JSON.stringify(json),
    });
    body.on('error', () => {}); // told by the loop, and of no use once we have hung up
    if (onLine !== undefined && statusCode === 200) {
      await tellLines(body, onLine);
      return { kind: 'answered', status: statusCode, body: '' };
    }
    return { kind: 'answered', status: statusCode, body: await beginningOf(body) };
  } finally {
    over.signal.removeEventListener('abort', hangUp);
    over.abort();
    await client.destroy();
  }
}

async function tellLines(body: AsyncIterable<Buffer>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()?.slice(0, BODY_LIMIT) ?? '';
    for (const line of lines) onLine(line);
  }
  if (rest !== '') onLine(rest);
}

async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= BODY_LIMIT) break;
  }
  return Buffer.concat(chunks).subarray(0, BODY_LIMIT).toString('utf8');
}

function inWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = codeOf(error);
  const said = error.message === '' ? error.name : error.message;
  return code === undefined || said.includes(code) ? said : `${code}: ${said}`;
}
