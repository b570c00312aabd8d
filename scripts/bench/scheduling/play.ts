import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { millis } from '../../../src/core/kinds.ts';
import type { Arrival, Workload } from '../../../src/simulate/workload.ts';
import { quantile } from '../statistics.ts';

/** What came of a workload for real. Times in milliseconds. */
export type Played = {
  readonly meanMs: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly requests: number;
  /** Those that had no first byte when the time was over, or were answered otherwise; their waits count as they were then. */
  readonly unserved: number;
  readonly swaps: number;
  readonly swappingShare: number;
};

type Client = { readonly waitedMs: number; readonly served: boolean };

/** Sends the requests of a workload when they are due, that many times faster, and waits for the answers until the time is over. */
export async function play(
  { arrivals, followUp }: Workload,
  port: number,
  { speedUp, limitMs, log }: { readonly speedUp: number; readonly limitMs: number; readonly log: string },
): Promise<Played> {
  const from = performance.now();
  const over = AbortSignal.timeout(limitMs);
  const clients: Promise<Client>[] = [];
  const come = async (arrival: Arrival): Promise<Client> => {
    const client = await ask(port, arrival, speedUp, over);
    const next = followUp?.(arrival, millis((performance.now() - from) * speedUp));
    if (next !== undefined && !over.aborted) clients.push(later(next));
    return client;
  };
  const later = async (arrival: Arrival): Promise<Client> => {
    await pause(Math.max(0, from + arrival.at / speedUp - performance.now()));
    return come(arrival);
  };
  for (const arrival of arrivals) {
    const waitMs = from + arrival.at / speedUp - performance.now();
    if (waitMs > 1) await pause(waitMs);
    clients.push(come(arrival));
  }
  const ended: Client[] = [];
  for (let client = clients.shift(); client !== undefined; client = clients.shift()) ended.push(await client);
  const waits = ended.map(({ waitedMs }) => waitedMs);
  return {
    meanMs: waits.reduce((sum, ms) => sum + ms, 0) / waits.length,
    p95Ms: quantile(waits, 0.95),
    p99Ms: quantile(waits, 0.99),
    maxMs: Math.max(...waits),
    requests: ended.length,
    unserved: ended.filter(({ served }) => !served).length,
    ...switching(log, performance.now() - from),
  };
}

/** Resolves at the end of the answer with how long its first byte took. */
function ask(port: number, { model, serviceMs }: Arrival, speedUp: number, over: AbortSignal): Promise<Client> {
  const body = JSON.stringify({
    model,
    stream: true,
    work_ms: serviceMs / speedUp,
    messages: [{ role: 'user', content: 'Hello' }],
  });
  const from = performance.now();
  const { promise, resolve } = Promise.withResolvers<Client>();
  let waitedMs: number | undefined;
  const end = (served: boolean): void => resolve({ waitedMs: waitedMs ?? performance.now() - from, served });
  const where = { host: '127.0.0.1', port, path: '/v1/chat/completions', method: 'POST', agent: false, signal: over };
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const asked = request({ ...where, headers }, (answer) => {
    answer.on('data', (chunk: Buffer) => {
      // Comments come while a request waits.
      if (waitedMs === undefined && chunk.includes('data:')) waitedMs = performance.now() - from;
    });
    answer.once('error', () => end(waitedMs !== undefined));
    answer.once('end', () => end(answer.statusCode === 200 && waitedMs !== undefined));
  });
  asked.once('error', () => end(waitedMs !== undefined));
  asked.end(body);
  return promise;
}

type Note = { readonly at: number; readonly what: 'come' | 'ready' | 'go'; readonly pid: number };

function notesIn(log: string): readonly Note[] {
  const text = readFileSync(log, 'utf8').trim();
  return text === '' ? [] : text.split('\n').map((line): Note => JSON.parse(line));
}

/** Those that nobody has ended: whoever started them may have let go of them. */
export function endEngines(log: string): void {
  for (const pid of new Set(notesIn(log).map((note) => note.pid))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(log)) process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

/** By the engines' own notes: how often one came, and for how much of the time none was there while one went or came. */
function switching(log: string, spanMs: number): { swaps: number; swappingShare: number } {
  const notes = notesIn(log);
  let since: number | undefined;
  let totalMs = 0;
  for (const { at, what } of notes.toSorted((a, b) => a.at - b.at)) {
    if (what !== 'ready') since ??= at;
    else if (since !== undefined) {
      totalMs += at - since;
      since = undefined;
    }
  }
  return { swaps: notes.filter(({ what }) => what === 'come').length, swappingShare: totalMs / spanMs };
}
