import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Plane } from '../../../src/api/plane.ts';

export type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string };

type Ask = { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

/** A plane behind a real listener; what is not its own is answered 418. */
export async function listen(plane: Plane) {
  const server = createServer((req, res) => {
    res.setHeader('x-request-id', 'r-1');
    if (!plane(req, res)) res.writeHead(418).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const { port } = address;
  return {
    port,
    async ask(path: string, { method = 'GET', headers = {}, body }: Ask = {}): Promise<Answer> {
      const req = request({ host: '127.0.0.1', port, path, method, headers, agent: false });
      req.end(body);
      const [res] = await once(req, 'response');
      return { status: res.statusCode, headers: res.headers, body: await text(res) };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
