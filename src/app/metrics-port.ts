import { createServer, type Server } from 'node:http';
import type { BareSocket } from '../adapters/ipc.ts';
import type { OpenPlane } from '../api/plane.ts';
import type { Config } from '../config/schema.ts';
import type { Reporter } from '../ports/reporter.ts';
import { urlOf } from './url-of.ts';

/** The port that only Prometheus reads. */
export type MetricsPort = { readonly port: number; readonly server: Server; stopListening(): void; close(): void };

/** Rejects with the system's error when the port cannot be had. */
async function openMetricsPort(
  host: string,
  port: number,
  plane: OpenPlane,
  socket: BareSocket | undefined,
): Promise<MetricsPort> {
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000 }, plane);
  server.maxConnections = 64;
  await listen(server, socket ?? { host, port });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    server,
    stopListening: () => void server.close(),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listen(server: Server, at: object): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(at, () => {
    server.off('error', reject);
    resolve();
  });
  return promise;
}

type MetricsMeans = {
  readonly asked: boolean;
  readonly plane: OpenPlane;
  readonly reporter: Reporter;
  /** The socket or the number of the one before. */
  readonly had: { readonly socket?: BareSocket | undefined; readonly number: number } | undefined;
};

/** One that is taken is only worth a warning, unless somebody asked for it. */
export async function metricsPortFor(
  { host, metrics_port: port }: Pick<Config, 'host' | 'metrics_port'>,
  { asked, plane, reporter, had }: MetricsMeans,
): Promise<MetricsPort | undefined> {
  try {
    const opened = await openMetricsPort(host, had?.number ?? port, plane, had?.socket);
    reporter.report({ kind: 'listening', what: 'metrics', url: `${urlOf(host, opened.port)}/metrics` });
    return opened;
  } catch (error) {
    const why = `cannot listen on ${host}:${port} for metrics (${String(error)}); set \`metrics_port\` to a free port, or 0`;
    if (asked) throw new Error(why, { cause: error });
    reporter.report({ kind: 'warned', message: `${why}. /metrics answers on the main port` });
    return undefined;
  }
}
