import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Door, type DoorTerms } from '../../../src/access/door.ts';
import { systemClock } from '../../../src/adapters/system-clock.ts';
import type { OpenPlane, Plane } from '../../../src/api/plane.ts';

export type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string };

type Ask = { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

/** A plane behind a real listener; what is not its own is answered 418. The door only says who asks: what follows from it is the plane's to do. */
export async function listen(plane: Plane | OpenPlane, terms: Partial<DoorTerms> = {}) {
  const door = new Door({ keys: [], hosts: ['catnap.example.org'], corsOrigins: [], clock: systemClock(), ...terms });
  const server = createServer((req, res) => {
    res.setHeader('x-request-id', 'r-1');
    void Promise.resolve(door.enter(req)).then(({ visitor }) => {
      if (plane(req, res, visitor) === false) res.writeHead(418).end();
    });
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
