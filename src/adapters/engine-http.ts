import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { after } from '../core/kinds.ts';
import type { EngineAnswer, EngineCall, EngineHttp } from '../ports/engine-http.ts';
import { systemClock } from './system-clock.ts';
import { codeOf } from './system-error.ts';

/** As much of a body is read; the rest is not waited for. */
const BODY_LIMIT = 64 * 1024;

const clock = systemClock();

/**
 * Control calls. Each has a connection of its own that is destroyed with the call, so nothing of a call is left when it has been answered: a kept
 * connection would meet another process after a restart, and would hold up a stop.
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
    return await exchange(terms, over.signal);
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
  signal: AbortSignal,
): Promise<EngineAnswer> {
  const text = json === undefined ? undefined : JSON.stringify(json);
  const asked = request(url, {
    method,
    // Nothing may be sent to an engine that is on disk with a call in flight: the signal ends also a connection that is still being made.
    signal,
    agent: false,
    headers: { ...(text === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
  });
  try {
    const answered = once(asked, 'response');
    asked.on('error', () => {}); // told by whoever waits for it, and of no use once we have hung up
    asked.end(text);
    const [answer] = await answered;
    const body: IncomingMessage = answer;
    const status = body.statusCode ?? 0;
    if (onLine !== undefined && status === 200) {
      await tellLines(body, onLine);
      return { kind: 'answered', status, body: '' };
    }
    return { kind: 'answered', status, body: await beginningOf(body) };
  } finally {
    asked.destroy();
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
