import { after } from '../core/kinds.ts';
import type { Fact } from '../core/facts.ts';
import type { Clock } from '../ports/clock.ts';
import type { CostFile, CostsByModel } from '../ports/cost-file.ts';
import type { Reporter } from '../ports/reporter.ts';
import { Alarm } from './alarm.ts';

/** So long after a swap what was learned is written, with what other swaps taught until then. */
const WRITE_AFTER_MS = 5_000;

/** Writes down what swaps cost, now and then and at the end. One write at a time. */
export class CostKeeper implements Reporter {
  readonly #clock: Clock;
  readonly #file: CostFile;
  readonly #costs: () => CostsByModel;
  readonly #alarm: Alarm;
  #writing: Promise<void> = Promise.resolve();
  #learned = false;

  constructor(clock: Clock, file: CostFile, costs: () => CostsByModel) {
    this.#clock = clock;
    this.#file = file;
    this.#costs = costs;
    this.#alarm = new Alarm(clock, () => this.#write());
  }

  report(fact: Fact): void {
    if (fact.kind !== 'swap-finished') return;
    this.#learned = true;
    if (this.#alarm.at === undefined) this.#alarm.set(after(this.#clock.now(), WRITE_AFTER_MS));
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#alarm.set(undefined);
    if (this.#learned) this.#write();
    await this.#writing;
  }

  #write(): void {
    this.#learned = false;
    this.#writing = this.#writing.then(() => this.#file.write(this.#costs()));
  }
}
