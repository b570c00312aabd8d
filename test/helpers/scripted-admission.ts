import type { RefusalCode, CutCode } from '../../src/core/errors.ts';
import { engineId, millis, ticketId, type ModelId } from '../../src/core/kinds.ts';
import type { TicketTerms } from '../../src/core/stage-events.ts';
import type { Outcome } from '../../src/core/outcome.ts';
import type { Backend } from '../../src/engines/driver.ts';
import { Cut, Refused, type Acquire, type Admission, type Lease } from '../../src/runtime/admission.ts';

/** One start of an engine, as a test sees it. */
export class ScriptedBackend implements Backend {
  readonly origin: string;
  readonly servedName: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly #gone = new AbortController();

  constructor(origin: string, more: { servedName?: string; headers?: Record<string, string> } = {}) {
    this.origin = origin;
    this.servedName = more.servedName;
    this.headers = more.headers ?? {};
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  die(): void {
    this.#gone.abort();
  }
}

export class ScriptedLease implements Lease {
  readonly ticket;
  readonly model: ModelId;
  readonly engine;
  readonly backend: Backend;
  readonly queuedMs = 30;
  readonly swapMs = 20;
  readonly place;
  readonly settled: Outcome[] = [];
  /** How often the engine was heard. */
  news = 0;
  /** Puts its engine away with it in flight, or brings it back. */
  stand: (still: boolean) => void = () => {};
  readonly #cut = new AbortController();

  constructor(ticket: number, model: ModelId, backend: Backend) {
    this.ticket = ticketId(ticket);
    this.place = { rank: millis(ticket), seq: ticket };
    this.model = model;
    this.engine = engineId(model, 0);
    this.backend = backend;
  }

  get cut(): AbortSignal {
    return this.#cut.signal;
  }

  whenStanding(tell: (still: boolean) => void): void {
    this.stand = tell;
  }

  heard(): void {
    this.news++;
  }

  settle(outcome: Outcome): void {
    this.settled.push(outcome);
  }

  end(code: CutCode, message: string, mayReturn = false): void {
    this.#cut.abort(new Cut(code, message, mayReturn));
  }
}

type Answering =
  | 'grant'
  | 'hold'
  | { readonly refuse: RefusalCode; readonly retryAfterMs?: number; readonly lasting?: boolean };

/** A stage of which the test decides, but for `off`, which is barred. Keeps the hand-over contract: a client that leaves while it waits gets its own reason back. */
export class ScriptedAdmission implements Admission {
  answering: Answering = 'grant';
  backend: Backend;
  readonly leases: ScriptedLease[] = [];
  /** Models asked for, in order. */
  readonly asked: ModelId[] = [];
  /** Whether there are leases to be had at once. */
  hasPlaces = true;
  /** How they wished to wait, in the same order. */
  readonly wishes: TicketTerms[] = [];
  /** How many left while they waited. */
  withdrawn = 0;
  /** Whether the models are awake for those who only look, and how many have looked. */
  awake = true;
  glances = 0;
  readonly #held: { readonly grant: () => void; readonly refuse: (error: Error) => void }[] = [];

  constructor(backend: Backend) {
    this.backend = backend;
  }

  acquire(model: ModelId, { signal, wishes = {} }: Acquire): Promise<Lease> {
    this.asked.push(model);
    this.wishes.push(wishes);
    if (wishes.bound === true && !this.awake) {
      return Promise.reject(new Refused('model_not_loaded', `${model} is not awake`, undefined));
    }
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.answering === 'grant') return Promise.resolve(this.#grant(model));
    if (this.answering !== 'hold') {
      const { refuse, retryAfterMs, lasting } = this.answering;
      return Promise.reject(new Refused(refuse, `no turn for ${model}`, retryAfterMs, lasting));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    const held = { grant: () => resolve(this.#grant(model)), refuse: reject };
    this.#held.push(held);
    signal.addEventListener('abort', () => {
      const at = this.#held.indexOf(held);
      if (at === -1) return;
      this.#held.splice(at, 1);
      this.withdrawn++;
      reject(signal.reason);
    });
    return promise;
  }

  barred(model: ModelId): Refused | undefined {
    return model === 'off' ? new Refused('model_disabled', 'off is disabled in the config', undefined) : undefined;
  }

  acquireNow(model: ModelId, wishes: TicketTerms = {}): Lease | undefined {
    if (!this.hasPlaces || this.answering !== 'grant') return undefined;
    this.asked.push(model);
    this.wishes.push(wishes);
    return this.#grant(model);
  }

  /** Not one of the leases: nobody counts it. */
  glance(model: ModelId): Lease | undefined {
    this.glances++;
    return this.awake ? new ScriptedLease(0, model, this.backend) : undefined;
  }

  /** Grants a lease to whoever is held. */
  grantHeld(): void {
    for (const { grant } of this.#held.splice(0)) grant();
  }

  refuseHeld(code: RefusalCode, message: string): void {
    for (const { refuse } of this.#held.splice(0)) refuse(new Refused(code, message, undefined));
  }

  /** The only lease there was. */
  get lease(): ScriptedLease {
    const [only] = this.leases;
    if (only === undefined || this.leases.length > 1) throw new Error(`${this.leases.length} leases, not one`);
    return only;
  }

  #grant(model: ModelId): ScriptedLease {
    const lease = new ScriptedLease(this.leases.length + 1, model, this.backend);
    this.leases.push(lease);
    return lease;
  }
}
