import { fork } from 'node:child_process';
import { Socket, type Server } from 'node:net';

/** A socket on its way from one process to another. One that listens takes no connection until somebody listens on it. */
export interface BareSocket {
  close(): void;
}

/** One end of the channel between two processes. Nothing arrives before somebody hears. */
export interface Channel {
  /** Resolves when it is on its way, and also when there is nobody any more. */
  send(message: unknown, socket?: BareSocket): Promise<void>;
  hear(listener: (message: unknown, socket: BareSocket | undefined) => void): void;
  close(): void;
}

export type ForkedEnd = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** A process of ours with a channel to it. */
export interface Forked extends Channel {
  readonly pid: number | undefined;
  readonly ended: Promise<ForkedEnd>;
  signal(name: NodeJS.Signals): void;
}

const LOOK_EVERY_MS = 100;

/**
 * What is on its way to another process. When that one goes while a socket is, Node calls nobody back for it and for what waits behind it, and does not
 * tell either that the channel is closed. So that is looked for, for as long as anything is on its way.
 */
class OnTheWay {
  readonly #open = new Set<() => void>();
  readonly #isConnected: () => boolean;
  readonly #lost: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(isConnected: () => boolean, lost: () => void) {
    this.#isConnected = isConnected;
    this.#lost = lost;
  }

  send(post: (sent: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      const sent = (): void => {
        this.#open.delete(sent);
        if (this.#open.size === 0) {
          clearInterval(this.#timer);
          this.#timer = undefined;
        }
        resolve();
      };
      this.#open.add(sent);
      this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
      if (this.#isConnected()) post(sent);
      else sent();
    });
  }

  /** There is nobody any more. */
  end(): void {
    for (const sent of this.#open) sent();
  }

  #look(): void {
    if (this.#isConnected()) return;
    this.end();
    this.#lost();
  }
}

/** Starts a script on the Node that runs this one, on the same terminal, with one variable more. */
export function forkScript(script: string, args: readonly string[], env: Readonly<Record<string, string>>): Forked {
  const child = fork(script, args, {
    env: { ...process.env, ...env },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  const ended = Promise.withResolvers<ForkedEnd>();
  const onTheWay = new OnTheWay(
    () => child.connected,
    () => child.emit('disconnect'),
  );
  child.once('exit', (code, signal) => {
    const over = (): void => {
      onTheWay.end();
      ended.resolve({ code, signal });
    };
    // What it has said last may still be on its way.
    if (child.connected) child.once('disconnect', over);
    else over();
  });
  // It could not be started, and there is no other end to come then.
  child.on('error', () => {
    if (child.pid === undefined) ended.resolve({ code: null, signal: null });
  });
  return {
    pid: child.pid,
    ended: ended.promise,
    signal: (name) => void child.kill(name),
    send: (message, socket) => onTheWay.send((sent) => void child.send(asMessage(message), asHandle(socket), sent)),
    hear: (listener) => void child.on('message', (message, socket) => listener(message, asSocket(socket))),
    close: () => {
      if (child.connected) child.disconnect();
    },
  };
}

/** The channel to the process that has forked this one. `lost` is called when that is gone, or has closed it. */
export function channelToParent(lost: () => void): Channel | undefined {
  if (process.send === undefined) return undefined;
  const onTheWay = new OnTheWay(
    () => process.connected,
    () => process.emit('disconnect'),
  );
  process.once('disconnect', lost);
  return {
    send: (message, socket) =>
      onTheWay.send((sent) => void process.send?.(asMessage(message), asHandle(socket), {}, sent)),
    hear: (listener) => void process.on('message', (message, socket) => listener(message, asSocket(socket))),
    close: () => {
      process.off('disconnect', lost);
      if (process.connected) process.disconnect();
    },
  };
}

/**
 * The socket below a server. Undefined once that has stopped to listen. A server that is sent as such listens at once where it arrives, so that
 * whoever only passes it on would lose connections; a bare socket waits.
 */
export function socketOf(server: Server): BareSocket | undefined {
  const handle: unknown = Reflect.get(server, '_handle');
  return isSocket(handle) ? handle : undefined;
}

/** The socket below a connection, of which nothing more is read here. `done` is for when it is on its way: this process has it no more then. */
export function detached(connection: Socket): { readonly socket: BareSocket; readonly done: () => void } | undefined {
  const handle: unknown = Reflect.get(connection, '_handle');
  if (!isSocket(handle) || !('readStop' in handle) || typeof handle.readStop !== 'function') return undefined;
  handle.readStop();
  connection.setTimeout(0);
  return { socket: handle, done: () => void connection.destroy() };
}

/** A connection that another process had. */
export function connectionOn(socket: BareSocket): Socket {
  const options: object = { handle: socket, readable: true, writable: true };
  return new Socket(options);
}

const isSocket = (value: unknown): value is BareSocket =>
  typeof value === 'object' && value !== null && 'close' in value && typeof value.close === 'function';

const asSocket = (value: unknown): BareSocket | undefined => (isSocket(value) ? value : undefined);

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node sends bare sockets, and its types know servers only
const asHandle = (socket: BareSocket | undefined): Server | undefined => socket as Server | undefined;

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whatever is JSON can be sent
const asMessage = (message: unknown): object => message as object;
