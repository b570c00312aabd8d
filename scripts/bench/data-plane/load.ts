// What load.go does, with the same arguments and answer, for machines without a Go compiler.
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';

const PATIENCE_MS = 20_000;
const [address = '', mode = '', ...given] = process.argv.slice(2);
const [first = 0, second = 0, third = 0] = given.map(Number);
const agent = new Agent({ keepAlive: true });
let failed = 0;
let fault: string | undefined;

switch (mode) {
  case 'requests':
    await closedLoop(first, second * 1_000, third);
    break;
  case 'streams':
    await streams(first, second, third);
    break;
  case 'mixed':
    await mixed(first, second * 1_000, third);
    break;
  case 'hold':
    await hold(first);
    break;
  default:
    throw new Error(`there is no load called ${mode}`);
}
process.exit(0);

function bodyOf(wish: string, bytes: number): Buffer {
  const content = bytes > 0 ? 'QUJD'.repeat(bytes / 4) : 'Tell me more about it. '.repeat(30);
  return Buffer.from(JSON.stringify({ user: wish, messages: [{ role: 'user', content }], model: 'bench' }));
}

/** Sends one request and resolves with its answer, none of which has been read. */
async function begin(body: Buffer): Promise<IncomingMessage> {
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const url = `http://${address}/v1/chat/completions`;
  const req = request(url, { method: 'POST', agent, headers, timeout: PATIENCE_MS });
  req.once('timeout', () => req.destroy(new Error('no answer in time'))).end(body);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  req.once('response', resolve).on('error', reject);
  const res = await promise;
  if (res.statusCode !== 200) throw new Error(`answered ${res.statusCode}`);
  return res;
}

async function ask(body: Buffer): Promise<void> {
  const res = await begin(body);
  await once(res.resume(), 'end');
}

/** How long each request took, in microseconds. */
async function together(count: number, work: (i: number, took: number[]) => Promise<void>): Promise<number[]> {
  const took: number[] = [];
  const note = (error: unknown): void => {
    failed++;
    fault ??= String(error);
  };
  await Promise.all(Array.from({ length: count }, (_, i) => work(i, took).catch(note)));
  return took;
}

async function closedLoop(connections: number, duringMs: number, bodyBytes: number): Promise<void> {
  const body = bodyOf('json', bodyBytes);
  const from = performance.now();
  const took = await together(connections, async (_, times) => {
    while (performance.now() - from < duringMs) {
      const begun = performance.now();
      await ask(body);
      times.push((performance.now() - begun) * 1e3);
    }
  });
  tell(took, performance.now() - from, took.length * body.length);
}

async function streams(count: number, rate: number, secs: number): Promise<void> {
  const body = bodyOf(`sse ${rate} ${rate * secs}`, 0);
  const from = performance.now();
  const took = await together(count, async (_, times) => {
    const res = await begin(body);
    let text = '';
    res.setEncoding('latin1').on('data', (piece: string) => {
      const now = (performance.timeOrigin + performance.now()) * 1e3;
      const events = (text + piece).split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) times.push(now - Number(/"at":(\d+)\d{3}\}/.exec(event)?.[1]));
    });
    await once(res, 'end');
  });
  if (took.length !== count * rate * secs) fault ??= `${took.length} of ${count * rate * secs} events came`;
  if (fault !== undefined && failed === 0) failed++;
  tell(took, performance.now() - from, 0);
}

async function mixed(rate: number, duringMs: number, bodyBytes: number): Promise<void> {
  const [small, big] = [bodyOf('json', 0), bodyOf('json', bodyBytes)];
  const [uploaders, askers] = [1, 20];
  const from = performance.now();
  let uploads = 0;
  const took = await together(uploaders + askers, async (i, times) => {
    for (let due = from + (i * 1_000) / rate; performance.now() - from < duringMs; due += (askers * 1_000) / rate) {
      if (i < uploaders) {
        await ask(big);
        uploads++;
        continue;
      }
      await until(due);
      await ask(small);
      // From when it was due, so that waiting for the answer before counts.
      times.push((performance.now() - due) * 1e3);
    }
  });
  tell(took, performance.now() - from, uploads * big.length);
}

async function hold(count: number): Promise<void> {
  const body = bodyOf('hold', 0);
  let held = 0;
  await together(1, async () => {
    for (; held < count; held++) await once(await begin(body), 'data');
  });
  console.log(JSON.stringify({ done: held, bytes: 0, failed, secs: 0, p50Us: 0, p99Us: 0, fault }));
  await once(process.stdin.resume(), 'end');
}

function until(due: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
}

function tell(took: readonly number[], lastedMs: number, bytes: number): void {
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  const result = { done: took.length, bytes, failed, secs: lastedMs / 1_000, p50Us: at(0.5), p99Us: at(0.99), fault };
  console.log(JSON.stringify(result));
}
