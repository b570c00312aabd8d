import { connectionOn, detached, socketOf, type BareSocket } from '../adapters/ipc.ts';
import type { TlsPair } from '../adapters/tls-files.ts';
import type { metricsPlane } from '../api/plane.ts';
import type { Config } from '../config/schema.ts';
import type { Reporter } from '../ports/reporter.ts';
import type { Taker } from '../proxy/idle-connections.ts';
import { Listener } from '../proxy/server.ts';
import { metricsPortFor, type MetricsPort } from './metrics-port.ts';
import type { Reception } from './reception.ts';
import { urlOf } from './url-of.ts';

export const PORTS = ['main', 'admin', 'metrics'] as const;
export type PortName = (typeof PORTS)[number];

/** Where a port was asked to be: 0 is any free one. */
export type Place = { readonly port: PortName; readonly host: string; readonly number: number };

/** A port of the catnap before: the number that it had, and the socket at which clients queue. */
export type HadBefore = { readonly number: number; readonly socket?: BareSocket | undefined };

/** A port that is given to another catnap. */
export type Given = {
  readonly place: Place;
  readonly number: number;
  readonly socket: BareSocket;
  /** It takes no connection any more, and serves those that it has. */
  readonly stop: () => void;
};

/** Where a connection goes. Resolves when it is on its way. */
export type Pass = (port: PortName, socket: BareSocket) => Promise<void>;

export type ListenersMeans = {
  readonly config: Config;
  readonly reception: Reception;
  readonly metrics: ReturnType<typeof metricsPlane>;
  readonly metricsPortAsked: boolean;
  /** Whether the port comes from the command line. */
  readonly unconfigured: boolean;
  readonly tls: TlsPair | undefined;
  readonly reporter: Reporter;
  /** What is left by the catnap before. */
  readonly before?: ((place: Place) => HadBefore | undefined) | undefined;
};

/** The ports of one catnap. */
export class Listeners {
  #main: Listener | undefined;
  #admin: Listener | undefined;
  #metrics: MetricsPort | undefined;
  #config: Config | undefined;

  /** Rejects with a message that says what to change. */
  async open({
    config,
    reception,
    metrics,
    tls,
    reporter,
    before = () => undefined,
    ...means
  }: ListenersMeans): Promise<void> {
    this.#config = config;
    const { host, port, admin_port: adminPort, metrics_port: metricsPort } = config;
    const listen = { host, tls };
    // Clients come last: once they are let in, nothing can go wrong with the start any more.
    if (metricsPort !== 0) {
      const had = before({ port: 'metrics', host, number: metricsPort });
      this.#metrics = await metricsPortFor(config, { asked: means.metricsPortAsked, plane: metrics, reporter, had });
    }
    if (adminPort !== null && reception.admin !== undefined) {
      const had = before({ port: 'admin', host, number: adminPort });
      const at = { port: had?.number ?? adminPort, socket: had?.socket, key: 'admin_port' };
      this.#admin = await Listener.open({ ...listen, ...at, ...reception.admin });
      reporter.report({ kind: 'listening', what: 'admin', url: urlOf(host, this.#admin.port, tls) });
    }
    const had = before({ port: 'main', host, number: port });
    const at = { port: had?.number ?? port, socket: had?.socket, key: means.unconfigured ? '-p' : 'port' };
    this.#main = await Listener.open({ ...listen, ...at, ...reception.main });
    reporter.report({ kind: 'listening', what: 'main', url: urlOf(host, this.#main.port, tls) });
  }

  /** The port clients talk to. */
  get port(): number {
    return this.#main?.port ?? 0;
  }

  receive({ main, admin }: Reception): void {
    this.#main?.receive(main);
    if (admin !== undefined) this.#admin?.receive(admin);
  }

  renew(pair: TlsPair): void {
    this.#main?.renew(pair);
    this.#admin?.renew(pair);
  }

  /** What listens, the port of clients first. */
  give(): readonly Given[] {
    const { host = '', port = 0, admin_port: adminPort, metrics_port: metricsPort = 0 } = this.#config ?? {};
    const open = [
      { name: 'main', listener: this.#main, number: port },
      { name: 'admin', listener: this.#admin, number: adminPort ?? 0 },
      { name: 'metrics', listener: this.#metrics, number: metricsPort },
    ] as const;
    return open.flatMap(({ name, listener, number }): Given[] => {
      const socket = listener === undefined ? undefined : socketOf(listener.server);
      if (listener === undefined || socket === undefined) return [];
      return [
        { place: { port: name, host, number }, number: listener.port, socket, stop: () => listener.stopListening() },
      ];
    });
  }

  /** Another process listens. Connections go there once they are idle; what is open has this long to end. Resolves when all of it has. */
  async leave(withinMs: number, pass: Pass): Promise<void> {
    this.#metrics?.close();
    const taker =
      (port: PortName): Taker =>
      async (connection) => {
        const bare = detached(connection);
        if (bare !== undefined) await pass(port, bare.socket);
        bare?.done();
      };
    await Promise.all([this.#main?.leave(withinMs, taker('main')), this.#admin?.leave(withinMs, taker('admin'))]);
  }

  /** A connection that another process had. */
  accept(port: PortName, socket: BareSocket): void {
    const listener = port === 'admin' ? this.#admin : this.#main;
    if (listener === undefined) socket.close();
    else listener.accept(connectionOn(socket));
  }

  /** Takes no more connections, lets what runs finish within the time, and ends the rest. */
  async close(withinMs: number): Promise<void> {
    await Promise.all([this.#main?.close(withinMs), this.#admin?.close(withinMs)]);
    this.#metrics?.close();
  }
}
