import { DriverError } from '../../../src/engines/driver.ts';
import type { Adopted, Backend, Done, Driver, DriverEvents, Order } from '../../../src/engines/driver.ts';
import type { Trouble } from '../../../src/core/trouble.ts';
import type { NapLevel } from '../../../src/core/kinds.ts';

type Call = { readonly what: 'start' | 'sleep' | 'wake' | 'stop'; readonly order: Order };

const DONE: Done = { actMs: 10, proofMs: 2 };

/** A driver whose every call waits for the test to answer it. It ignores aborts, as an unkind engine would. */
export class ScriptedDriver implements Driver {
  readonly calls: Call[] = [];
  readonly events: DriverEvents;
  backend: Backend | undefined;
  running = undefined;
  proof: () => Promise<boolean> = () => Promise.resolve(true);
  readonly #answers: { readonly resolve: (done: Done) => void; readonly reject: (error: Error) => void }[] = [];
  #gone = new AbortController();

  constructor(events: DriverEvents) {
    this.events = events;
  }

  get last(): Call | undefined {
    return this.calls.at(-1);
  }

  start = (order: Order): Promise<Done> => this.#call('start', order);
  sleep = (_level: NapLevel, order: Order): Promise<Done> => this.#call('sleep', order);
  wake = (_level: NapLevel, order: Order): Promise<Done> => this.#call('wake', order);
  stop = (order: Order): Promise<Done> => this.#call('stop', order);
  prove = (): Promise<boolean> => this.proof();
  tail = (): readonly string[] => ['the last line'];
  members = (): Promise<readonly number[]> => Promise.resolve([]);
  hindrance = (): Promise<undefined> => Promise.resolve(undefined);
  release = (): null => {
    this.released += 1;
    return null;
  };
  adopt = async ({ phase }: Adopted, order: Order): Promise<void> => {
    this.born = order.epoch;
    if (phase.kind === 'awake') this.#rouse();
    await this.onAdopt();
  };
  onAdopt: () => Promise<void> = () => Promise.resolve();
  released = 0;
  born: number | undefined;

  /** Answers the oldest call that has no answer. */
  succeed(): void {
    const call = this.calls[this.calls.length - this.#answers.length];
    if (call?.what === 'start' || call?.what === 'wake') {
      this.#rouse();
    } else {
      this.#lose();
    }
    this.#answers.shift()?.resolve(DONE);
  }

  failWith(reason: string, trouble?: Trouble): void {
    this.#answers.shift()?.reject(new DriverError(reason, trouble));
  }

  /** The process of the newest start ends by itself. */
  die(reason: string): void {
    const born = this.calls.findLast(({ what }) => what === 'start')?.order.epoch ?? this.born ?? 0;
    this.#lose();
    this.events.exited(born, reason);
  }

  #rouse(): void {
    this.#gone = new AbortController();
    this.backend = { origin: 'http://127.0.0.1:1', servedName: undefined, headers: {}, gone: this.#gone.signal };
  }

  #lose(): void {
    this.#gone.abort();
    this.backend = undefined;
  }

  #call(what: Call['what'], order: Order): Promise<Done> {
    this.calls.push({ what, order });
    return new Promise((resolve, reject) => this.#answers.push({ resolve, reject }));
  }
}
