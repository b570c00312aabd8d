import type { HookName } from '../core/hooks.ts';
import type { NapLevel } from '../core/kinds.ts';
import type { HandedLife } from '../ports/handover.ts';
import type { Adopted, Backend, Done, Driver, Order, Running } from './driver.ts';
import type { About, Hooks } from './hooks.ts';
import { unlessAborted } from './wait.ts';

/**
 * A driver with the operator's hooks around its commands. What they take counts as part of the act, so that it is learned and told with it.
 * A hook that runs when its order is withdrawn is ended, and the stop that follows waits for that.
 */
export class HookedDriver implements Driver {
  readonly #driver: Driver;
  readonly #hooks: Hooks;
  #running: Promise<unknown> = Promise.resolve();
  /** Whether anything has been started whose end is not proven, and whether it has been told that it will end. */
  #started = false;
  #warned = false;

  constructor(driver: Driver, hooks: Hooks) {
    this.#driver = driver;
    this.#hooks = hooks;
  }

  get backend(): Backend | undefined {
    return this.#driver.backend;
  }

  get running(): Running | undefined {
    return this.#driver.running;
  }

  get dozes(): boolean {
    return this.#driver.dozes === true;
  }

  members(): Promise<readonly number[]> {
    return this.#driver.members();
  }

  hindrance(level: NapLevel, signal: AbortSignal): Promise<string | undefined> {
    return this.#driver.hindrance(level, signal);
  }

  start(order: Order): Promise<Done> {
    this.#warned = false;
    return this.#around('start', {}, order, () => {
      this.#started = true;
      return this.#driver.start(order);
    });
  }

  sleep(level: NapLevel, order: Order): Promise<Done> {
    return this.#around('sleep', { level }, order, () => this.#driver.sleep(level, order));
  }

  wake(level: NapLevel, order: Order): Promise<Done> {
    return this.#around('wake', { level }, order, () => this.#driver.wake(level, order));
  }

  /** A stop that is tried again goes on where the last one gave up: it is announced once. */
  async stop(order: Order): Promise<Done> {
    await unlessAborted(this.#running, order.signal);
    let spent = 0;
    if (this.running !== undefined && !this.#warned) {
      this.#warned = true;
      spent += await this.#run('before_stop', {}, order.signal);
    }
    const { actMs, proofMs } = await this.#driver.stop(order);
    if (this.#started) {
      this.#started = false;
      spent += await this.#run('after_stop', {}, order.signal);
    }
    return { actMs: actMs + spent, proofMs };
  }

  prove(signal: AbortSignal): Promise<boolean> {
    return this.#driver.prove(signal);
  }

  tail(lines: number): readonly string[] {
    return this.#driver.tail(lines);
  }

  release(): HandedLife | null {
    return this.#driver.release();
  }

  /** It was started elsewhere, with its hooks, and nothing of that is done again. */
  adopt(handed: Adopted, order: Order): Promise<void> {
    this.#started = true;
    return this.#driver.adopt(handed, order);
  }

  async #around(
    what: 'start' | 'sleep' | 'wake',
    about: Pick<About, 'level'>,
    order: Order,
    act: () => Promise<Done>,
  ): Promise<Done> {
    const before = await this.#run(`before_${what}`, about, order.signal);
    const { actMs, proofMs, left } = await act();
    const behind = await this.#run(`after_${what}`, about, order.signal);
    return { actMs: actMs + before + behind, proofMs, left };
  }

  #run(name: HookName, about: Pick<About, 'level'>, signal: AbortSignal): Promise<number> {
    const run = this.#hooks.run(name, { ...about, running: this.running }, signal);
    this.#running = run.catch(() => undefined);
    return run;
  }
}
