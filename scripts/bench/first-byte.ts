import { request } from 'node:http';

/** When the first byte of an answer's body came, as a moment of `performance`, and what its head said. */
export type FirstByte = { readonly at: number; readonly timing: string | undefined };

/** Asks for one token as a stream, over a connection of its own, and reads the answer to its end before it resolves. */
export function firstByte(port: number, model: string, signal: AbortSignal): Promise<FirstByte> {
  const body = JSON.stringify({ model, stream: true, max_tokens: 1, messages: [{ role: 'user', content: 'Hello' }] });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const { promise, resolve, reject } = Promise.withResolvers<FirstByte>();
  const where = { host: '127.0.0.1', port, path: '/v1/chat/completions', method: 'POST' };
  const req = request({ ...where, headers, agent: false, signal }, (res) => {
    const said: Buffer[] = [];
    let at: number | undefined;
    res.on('data', (chunk: Buffer) => {
      at ??= performance.now();
      said.push(chunk);
    });
    res.once('error', reject);
    res.once('end', () => {
      const timing = res.headers['server-timing'];
      if (res.statusCode === 200 && at !== undefined) resolve({ at, timing: timing?.toString() });
      else reject(new Error(`${model} answered ${res.statusCode}: ${Buffer.concat(said).toString().slice(0, 500)}`));
    });
  });
  req.once('error', reject);
  req.end(body);
  return promise;
}
