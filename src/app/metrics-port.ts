import { createServer, type Server } from 'node:http';
import type { OpenPlane } from '../api/plane.ts';

/** The port that only Prometheus reads. */
export type MetricsPort = { readonly port: number; close(): void };

/** Rejects with the system's error when the port cannot be had. */
export async function openMetricsPort(host: string, port: number, plane: OpenPlane): Promise<MetricsPort> {
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000 }, plane);
  server.maxConnections = 64;
  await listen(server, host, port);
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, host, () => {
    server.off('error', reject);
    resolve();
  });
  return promise;
}
