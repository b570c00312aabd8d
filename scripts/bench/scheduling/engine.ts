/**
 * An engine whose work takes as long as it is told: `engine.ts --port N --model NAME --come-ms MS --go-ms MS --places N --log FILE --ready FILE`. Its first byte
 * leaves when it begins with a request, the rest when `work_ms` of the body have passed. What becomes of it goes to the log, so that every server that drives
 * it is measured alike.
 */
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';

const option = { type: 'string', default: '' } as const;
const { values } = parseArgs({
  options: {
    port: option,
    model: option,
    'come-ms': option,
    'go-ms': option,
    places: option,
    log: option,
    ready: option,
  },
});
const places = Number(values.places);
const line: { readonly response: ServerResponse; readonly workMs: number }[] = [];
let atWork = 0;
let isReady = false;

const note = (what: string, at = Date.now()): void =>
  appendFileSync(values.log, `${JSON.stringify({ at, what, model: values.model, pid: process.pid })}\n`);

/** A client that has left is worked for to no end by nobody. */
function next(): void {
  while (atWork < places) {
    const first = line.shift();
    if (first === undefined) return;
    const { response, workMs } = first;
    if (response.destroyed) continue;
    atWork++;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n');
    const done = (): void => {
      clearTimeout(timer);
      response.off('close', done);
      response.end('data: [DONE]\n\n');
      atWork--;
      next();
    };
    const timer = setTimeout(done, workMs);
    response.once('close', done);
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.once('end', () => {
    if (request.method === 'GET') return void response.writeHead(isReady ? 200 : 503).end('{}');
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    const workMs = typeof body === 'object' && body !== null && 'work_ms' in body ? Number(body.work_ms) : 0;
    line.push({ response, workMs });
    next();
  });
});

const bornAt = Date.now() - process.uptime() * 1_000;
note('come', bornAt);
server.listen(Number(values.port), '127.0.0.1', () => {
  setTimeout(
    () => {
      isReady = true;
      note('ready');
      if (values.ready !== '') writeFileSync(values.ready, '');
    },
    Math.max(0, bornAt + Number(values['come-ms']) - Date.now()),
  );
});
process.once('SIGTERM', () => {
  note('go');
  setTimeout(() => {
    if (values.ready !== '') rmSync(values.ready, { force: true });
    process.exit(0);
  }, Number(values['go-ms']));
});
