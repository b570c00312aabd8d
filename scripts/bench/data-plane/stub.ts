// What stub.go does, for machines without a Go compiler. Slower, so what it shows of fast proxies is a floor.
import { createServer, type ServerResponse } from 'node:http';

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' } }],
});
const SEARCHED = 1_024;

const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  let ends = '';
  req.on('data', (chunk: Buffer) => {
    ends =
      ends.slice(0, SEARCHED) + chunk.toString('latin1', 0, SEARCHED) + chunk.subarray(-SEARCHED).toString('latin1');
  });
  req.on('end', () => fulfil(res, /"user":"([^"]*)"/.exec(ends)?.[1]?.split(' ') ?? []));
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' && address !== null ? address.port : 0);
});
// Whoever started it is gone when its end of the pipe is.
process.stdin.resume().once('end', () => process.exit(0));

function fulfil(res: ServerResponse, [kind, rate, chunks]: readonly string[]): void {
  if (kind === 'sse') return stream(res, 1_000 / Number(rate), Number(chunks));
  if (kind !== 'hold') {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length }).end(ANSWER);
    return;
  }
  res.writeHead(200, { 'content-type': 'text/event-stream' }).write(event());
}

/** A chunk each period. One that is late does not shift those after it. */
function stream(res: ServerResponse, periodMs: number, chunks: number): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  const begun = performance.now();
  let sent = 0;
  const timer = setInterval(
    () => {
      for (const due = (performance.now() - begun) / periodMs; sent < Math.min(due, chunks); sent++) res.write(event());
      if (sent < chunks && !res.destroyed) return;
      clearInterval(timer);
      res.end();
    },
    Math.max(1, periodMs),
  );
}

function event(): string {
  const nanos = Math.round((performance.timeOrigin + performance.now()) * 1e3);
  return `data: {"choices":[{"index":0,"delta":{"content":" token"}}],"at":${String(nanos)}000}\n\n`;
}
