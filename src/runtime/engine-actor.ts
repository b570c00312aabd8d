import PQueue from 'p-queue';
import { engineDueAt, handedEngine, newEngine, stepEngine } from '../core/engine.ts';
import type { Engine, EngineCommand, EngineEvent, EngineGoal, EnginePhase, EngineRules } from '../core/engine.ts';
import { after, unreachable, type EngineId, type ModelId, type NapLevel } from '../core/kinds.ts';
import { holdsHost } from '../core/residency.ts';
import type { Took } from '../core/swap.ts';
import type { Why } from '../core/trouble.ts';
import { DriverError, type Driver, type DriverEvents, type Order } from '../engines/driver.ts';
import type { Clock } from '../ports/clock.ts';
import type { HandedEngine } from '../ports/handover.ts';
import type { Reporter } from '../ports/reporter.ts';
import { Alarm } from './alarm.ts';
import { Mailbox } from './mailbox.ts';
import type { Holds } from './view.ts';

const LAST_LINES = 20;
const MIB = 1_048_576;

/** How much host memory processes hold, in bytes. */
export type ResidentBytes = (pids: readonly number[]) => Promise<number>;

export type EngineActorOptions = {
  readonly id: EngineId;
  readonly model: ModelId;
  readonly rules: EngineRules;
  readonly clock: Clock;
  readonly reporter: Reporter;
  readonly makeDriver: (events: DriverEvents) => Driver;
  /** The settings that `makeDriver` goes by, for whoever makes such a driver elsewhere. */
  readonly definition?: string;
  /** How much host memory processes hold; undefined: nobody measures that. */
  readonly residentBytes?: ResidentBytes | undefined;
  /** Told after every change of phase, with what the command took if one led to it. */
  readonly moved: (phase: EnginePhase, took: Took | undefined) => void;
};

type Revision = Pick<EngineActorOptions, 'rules' | 'makeDriver' | 'definition'>;

type Message = { readonly event: EngineEvent; readonly took?: Took };

/**
 * Owns one `Engine`: the only one that steps it. Runs its commands one after another through a driver and drops late answers by epoch.
 * A command whose epoch has passed is aborted, and the next one does not wait for it beyond that.
 */
export class EngineActor {
  readonly id: EngineId;
  readonly model: ModelId;
  #driver: Driver;
  #options: EngineActorOptions;
  /** Whether the next start is made with another driver. */
  #changed = false;
  readonly #commands = new PQueue({ concurrency: 1 });
  readonly #mailbox = new Mailbox<Message>((message) => this.#step(message));
  readonly #alarm: Alarm;
  #holds: Holds | undefined;
  #engine: Engine = newEngine;
  #current: AbortController | undefined;
  #definition: string;
  /** Whether its stage has heard of it: not yet while it is being adopted, and nobody hears of it once it was let go. */
  #state: 'told' | 'adopted' | 'released' = 'told';
  #onlyGives = false;

  constructor(options: EngineActorOptions) {
    this.#options = options;
    this.id = options.id;
    this.model = options.model;
    this.#alarm = new Alarm(options.clock, () => this.#mailbox.post({ event: { kind: 'time-passed' } }));
    this.#driver = this.#makeDriver();
    this.#definition = options.definition ?? '';
  }

  get driver(): Driver {
    return this.#driver;
  }

  /** The config says something else of it: its rules hold at once, the rest from its next start on. */
  revise({ rules, makeDriver, definition = '' }: Revision): void {
    this.#options = { ...this.#options, rules, makeDriver, definition };
    this.#changed = true;
  }

  /**
   * An engine that runs already takes the place of one that would be started. Resolves once it is known how it does; its stage hears nothing of it
   * before `present`. Its next start is made as this actor was told.
   */
  async adopt(handed: HandedEngine, as: Pick<EngineActorOptions, 'makeDriver'>, limitMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#state = 'adopted';
    this.#engine = handedEngine(handed.phase, clock.now());
    const { gpuMib, hostMib, diskMib } = handed.holds ?? {};
    this.#holds = { gpuMib, hostMib, diskMib };
    this.#driver = this.#makeDriver(as.makeDriver);
    this.#definition = handed.definition;
    this.#changed = true;
    const { born } = this.#engine;
    const limit = new AbortController();
    const cancel = clock.at(after(clock.now(), limitMs), () =>
      limit.abort(new DriverError('it was not taken over in time')),
    );
    const order = { epoch: born, signal: limit.signal };
    try {
      await Promise.race([this.#driver.adopt(handed, order), aborted(limit.signal)]);
    } catch (error) {
      this.#mailbox.post({ event: { kind: 'process-exited', born, reason: whyOf(error).reason } });
    } finally {
      cancel();
    }
  }

  /** From now on its stage hears of it. */
  present(): EnginePhase {
    this.#state = 'told';
    return this.#engine.phase;
  }

  /** Lets go of its engine without stopping it; undefined: there is none. */
  release(): HandedEngine | undefined {
    const { phase } = this.#engine;
    this.#state = 'released';
    this.#alarm.set(undefined);
    if (phase.kind !== 'awake' && phase.kind !== 'asleep') return undefined;
    const rest = phase.kind === 'awake' ? { kind: phase.kind } : { kind: phase.kind, level: phase.level };
    const { id: engine, holds } = this;
    return { engine, phase: rest, definition: this.#definition, holds, life: this.#driver.release() };
  }

  /** Whether a sleep to disk is so far that nothing of it returns to the GPU. */
  get onlyGives(): boolean {
    return this.#onlyGives;
  }

  get engine(): Engine {
    return this.#engine;
  }

  /** What it holds while it sleeps, as it was seen when it fell asleep. */
  get holds(): Holds | undefined {
    return this.#engine.phase.kind === 'asleep' ? this.#holds : undefined;
  }

  setGoal(goal: EngineGoal, atOnce: boolean): void {
    this.#mailbox.post({ event: { kind: 'goal-set', goal, atOnce } });
  }

  /** The watchdog's verdict; it counts only for the process it was found on. */
  unresponsive(born: number, reason: string): void {
    this.#mailbox.post({ event: { kind: 'unresponsive', born, reason } });
  }

  #makeDriver(makeDriver = this.#options.makeDriver): Driver {
    const { id: engine, model } = this.#options;
    return makeDriver({
      spawned: (running) => this.#report({ kind: 'engine-started', engine, model, ...running }),
      exited: (born, reason) => this.#mailbox.post({ event: { kind: 'process-exited', born, reason } }),
      lostSleep: (born) => this.#mailbox.post({ event: { kind: 'sleep-lost', born } }),
      warned: (message) => this.#report({ kind: 'warned', message: `${engine}: ${message}` }),
      hooked: (end) => this.#report({ kind: 'hook-ended', engine, model, ...end }),
    });
  }

  #step({ event, took }: Message): void {
    if (this.#state === 'released') return;
    const { clock, rules, moved } = this.#options;
    const before = this.#engine;
    const { engine, effects } = stepEngine(before, event, clock.now(), rules);
    this.#engine = engine;
    if (engine.phase.kind === 'asleep' && engine.phase !== before.phase)
      this.#holds = holdsOf(engine.phase.level, took);
    this.#alarm.set(engineDueAt(engine));
    if (engine.epoch !== before.epoch) this.#current?.abort(new Error('superseded'));
    for (const { epoch, command } of effects) this.#run(epoch, command);
    if (engine.phase === before.phase) return;
    this.#tell(before.phase, engine.phase);
    if (this.#state === 'told') moved(engine.phase, took);
  }

  #run(epoch: number, command: EngineCommand): void {
    const controller = new AbortController();
    this.#current = controller;
    this.#onlyGives = false;
    const onlyGives = (): void => {
      if (this.#current === controller) this.#onlyGives = true;
    };
    const order = { epoch, signal: controller.signal, onlyGives };
    void this.#commands.add(async () => {
      const event = await this.#answer(command, order);
      this.#mailbox.post(event);
    });
  }

  /** Never rejects, and never outlives the order's signal: a driver that does not listen must not hold up the stop that follows. */
  async #answer(command: EngineCommand, order: Order): Promise<Message> {
    const { epoch, signal } = order;
    try {
      if (signal.aborted) throw signal.reason;
      const took = await Promise.race([this.#perform(command, order), aborted(signal)]);
      return { event: { kind: 'command-done', epoch }, took };
    } catch (error) {
      return { event: { kind: 'command-failed', epoch, ...whyOf(error) } };
    }
  }

  async #perform(command: EngineCommand, order: Order): Promise<Took> {
    switch (command.kind) {
      case 'start':
        // Nothing of the driver before it runs any more.
        if (this.#changed) {
          this.#driver = this.#makeDriver();
          this.#definition = this.#options.definition ?? '';
        }
        this.#changed = false;
        return this.#driver.start(order);
      case 'sleep':
        return this.#measured(
          command.level,
          await this.driver.sleep(command.level, { ...order, open: command.frozen === true }),
        );
      case 'wake':
        return this.driver.wake(command.level, order);
      case 'stop':
        return this.driver.stop(order);
      default:
        return unreachable(command);
    }
  }

  /** With what it holds in host memory, where its level keeps something there. */
  async #measured(level: NapLevel, took: Took): Promise<Took> {
    const { residentBytes } = this.#options;
    if (residentBytes === undefined || !holdsHost(level)) return took;
    try {
      return { ...took, hostMib: Math.ceil((await residentBytes(await this.driver.members())) / MIB) };
    } catch (error) {
      const message = `${this.id}: what it holds in host memory cannot be measured: ${whyOf(error).reason}`;
      this.#report({ kind: 'warned', message });
      return took;
    }
  }

  #tell(from: EnginePhase, to: EnginePhase): void {
    const { id: engine, model } = this;
    this.#report({ kind: 'engine-moved', engine, model, from: from.kind, to: to.kind });
    if (to.kind === 'reaping' && from.kind !== 'stuck') {
      const { failure, retryAt } = to.failed;
      const retryInMs = Math.max(0, retryAt - this.#options.clock.now());
      const lastLines = this.driver.tail(LAST_LINES);
      this.#report({ kind: 'engine-failed', engine, model, failure, retryInMs, lastLines });
    }
    if ((to.kind === 'falling-asleep' || to.kind === 'stopping') && to.instead !== undefined) {
      const level = to.kind === 'stopping' ? 5 : to.level;
      this.#report({
        kind: 'sleep-escalated',
        engine,
        model,
        ...to.instead,
        to: level,
        lastLines: this.driver.tail(LAST_LINES),
      });
    }
    if (to.kind === 'stuck') this.#report({ kind: 'engine-stuck', engine, model, reason: to.reason });
  }

  #report(fact: Parameters<Reporter['report']>[0]): void {
    this.#options.reporter.report(fact);
  }
}

/** What was not looked at is not known; on disk there is no process that could hold anything. */
function holdsOf(level: NapLevel, took: Took | undefined): Holds {
  const { gpuMib, diskMib } = took?.left ?? {};
  return { gpuMib, diskMib, hostMib: level === 4 ? 0 : took?.hostMib };
}

function whyOf(error: unknown): Why {
  if (!(error instanceof Error)) return { reason: String(error) };
  return { reason: error.message, trouble: error instanceof DriverError ? error.trouble : undefined };
}

/** Rejects when the signal fires; its listener goes with the signal. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener(
      'abort',
      () => reject(signal.reason instanceof Error ? signal.reason : new DriverError('superseded')),
      { once: true },
    );
  });
}
