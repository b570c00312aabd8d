import { impossible, invariant, type ModelId, type NapLevel } from '../core/kinds.ts';
import type { StubModel } from '../config/schema.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { StubServer, StubServers } from '../ports/stub-server.ts';
import {
  DriverError,
  type Adopted,
  type Backend,
  type Done,
  type Driver,
  type DriverEvents,
  type Order,
  type Running,
} from './driver.ts';
import { leastWork } from './sign-of-life.ts';
import { pause, reasonOf, unlessAborted } from './wait.ts';

type StubMeans = {
  readonly clock: Clock;
  readonly stubs: StubServers;
  readonly http: EngineHttp;
  readonly events: DriverEvents;
};

/** One server from its opening to its close. */
type Life = {
  readonly born: number;
  readonly server: StubServer;
  readonly crash: AbortController;
  nap: NapLevel | undefined;
  awake: Awake | undefined;
};

type Awake = { readonly backend: Backend; readonly gone: AbortController };

/** The built-in engine: a real server in our own process that answers a fixed text, with delays one can set. */
export class StubDriver implements Driver {
  readonly #model: ModelId;
  readonly #config: StubModel;
  readonly #means: StubMeans;
  #life: Life | undefined;
  #opening: Promise<Life> | undefined;
  #starting: AbortController | undefined;

  constructor(model: ModelId, config: StubModel, means: StubMeans) {
    this.#model = model;
    this.#config = config;
    this.#means = means;
  }

  get backend(): Backend | undefined {
    return this.#life?.awake?.backend;
  }

  get running(): Running | undefined {
    const server = this.#life?.server;
    return server && { pid: server.pid, port: server.port, commandLine: 'the built-in stub engine' };
  }

  /** It lives in a process that is not its own. */
  members(): Promise<readonly number[]> {
    return Promise.resolve([]);
  }

  hindrance(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async start(order: Order): Promise<Done> {
    invariant(this.#life === undefined && this.#starting === undefined, 'a stub engine is started while one runs');
    const from = this.#means.clock.now();
    const stopped = new AbortController();
    this.#starting = stopped;
    const signal = AbortSignal.any([order.signal, stopped.signal]);
    try {
      this.#opening = this.#open(order.epoch);
      const life = await unlessAborted(this.#opening, signal);
      if (this.running !== undefined) this.#means.events.spawned(this.running);
      await this.#take(this.#config.start_ms, AbortSignal.any([signal, life.crash.signal]));
      this.#rouse(life);
      return this.#since(from);
    } finally {
      this.#starting = undefined;
    }
  }

  async sleep(level: NapLevel, order: Order): Promise<Done> {
    const life = this.#life ?? impossible('a stub engine that does not run is put to sleep');
    const from = this.#means.clock.now();
    this.#hush(life, 'the engine is being put to sleep');
    life.server.set('asleep');
    await this.#take(this.#config.sleep_ms, AbortSignal.any([order.signal, life.crash.signal]));
    life.nap = level;
    return this.#since(from);
  }

  async wake(level: NapLevel, order: Order): Promise<Done> {
    const life = this.#life;
    invariant(life !== undefined && life.nap === level, 'a stub engine is woken that does not sleep so');
    const from = this.#means.clock.now();
    await this.#take(this.#config.wake_ms, AbortSignal.any([order.signal, life.crash.signal]));
    this.#rouse(life);
    return this.#since(from);
  }

  async stop(order: Order): Promise<Done> {
    const from = this.#means.clock.now();
    this.#starting?.abort(new DriverError('stopped while starting'));
    const life = await unlessAborted(this.#opened(), order.signal);
    if (life === undefined) return { actMs: 0, proofMs: 0 };
    this.#hush(life, 'the engine is being stopped');
    await unlessAborted(life.server.close(), order.signal);
    if (this.#life === life) this.#life = undefined;
    return this.#since(from);
  }

  async prove(signal: AbortSignal): Promise<boolean> {
    const backend = this.backend;
    if (backend === undefined) return false;
    const { origin, headers } = backend;
    return (await leastWork({ http: this.#means.http, origin, servedName: this.#name, headers, signal })) === 'done';
  }

  tail(): readonly string[] {
    return [];
  }

  /** Its server is a part of its catnap, which goes on serving what is open; the next one opens another. */
  release(): null {
    return null;
  }

  async adopt({ phase }: Adopted, { epoch }: Order): Promise<void> {
    this.#opening = this.#open(epoch);
    const life = await this.#opening;
    if (this.running !== undefined) this.#means.events.spawned({ ...this.running, adopted: true });
    if (phase.kind === 'awake') this.#rouse(life);
    else {
      life.server.set('asleep');
      life.nap = phase.level;
    }
  }

  get #name(): string {
    return this.#config.served_model_name ?? this.#model;
  }

  async #open(born: number): Promise<Life> {
    const { text = `Hello from ${this.#model}, the built-in engine.`, tokens, ...rest } = this.#config;
    const { first_token_ms: firstTokenMs, token_ms: tokenMs } = rest;
    const server = await this.#means.stubs.open({ model: this.#name, text, tokens, firstTokenMs, tokenMs });
    const life: Life = { born, server, crash: new AbortController(), nap: undefined, awake: undefined };
    this.#life = life;
    void server.crashed.then((reason) => this.#crashed(life, reason));
    return life;
  }

  /** The server that is open or about to be; undefined when there is none. */
  async #opened(): Promise<Life | undefined> {
    try {
      await this.#opening;
    } catch {
      // The start that asked for it has told why.
    }
    return this.#life;
  }

  /** What a real engine would need this long for; ends at once when the order is withdrawn. */
  async #take(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) await pause(this.#means.clock, ms, signal);
    if (signal.aborted) throw reasonOf(signal);
  }

  #rouse(life: Life): void {
    const gone = new AbortController();
    life.nap = undefined;
    life.server.set('awake');
    const origin = `http://127.0.0.1:${life.server.port}`;
    life.awake = { backend: { origin, servedName: this.#name, headers: {}, gone: gone.signal }, gone };
  }

  #hush(life: Life, why: string): void {
    life.awake?.gone.abort(new DriverError(why));
    life.awake = undefined;
  }

  #crashed(life: Life, reason: string): void {
    const wasReady = life.awake !== undefined || life.nap !== undefined;
    this.#hush(life, 'the engine has ended');
    life.crash.abort(new DriverError(`the stub engine ${reason}`));
    if (this.#life === life) this.#life = undefined;
    if (wasReady) this.#means.events.exited(life.born, `the stub engine ${reason}`);
  }

  #since(from: number): Done {
    return { actMs: this.#means.clock.now() - from, proofMs: 0 };
  }
}
