import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands before a server and keeps what it answers. */
export type Tee = AsyncDisposable & {
  readonly origin: string;
  /** The bodies it has passed on, in the order in which they began. */
  readonly answers: readonly Buffer[][];
};

export async function teeBefore(origin: string): Promise<Tee> {
  const answers: Buffer[][] = [];
  const server = createServer((req, res) => {
    const { method, url, headers } = req;
    const onward = request(
      new URL(url ?? '/', origin),
      { method, headers, agent: false },
      (answer: IncomingMessage) => {
        const kept: Buffer[] = [];
        answers.push(kept);
        res.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.on('data', (chunk: Buffer) => {
          kept.push(chunk);
          res.write(chunk);
        });
        answer.once('end', () => res.end());
        answer.once('error', () => res.destroy());
      },
    );
    onward.once('error', () => res.destroy());
    req.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    answers,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
