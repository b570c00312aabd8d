import { after, invariant, type EngineId, type Millis, type ModelId, type NapLevel } from '../core/kinds.ts';
import type { Launched } from '../ports/checkpoints.ts';
import type { HandedLife } from '../ports/handover.ts';
import type { Child } from '../ports/process.ts';
import { shown } from './command-line.ts';
import { memoryOf, preparedFor, recall, signOfAdopted } from './adoption.ts';
import { DriverError, type Adopted, type Backend, type Done, type Driver, type Order, type Running } from './driver.ts';
import type { Family } from './family.ts';
import { whileHeard } from './heard.ts';
import { Life, type LifeMeans } from './life.ts';
import { untilReady, type Readiness } from './readiness.ts';
import { notSpawned, portFor } from './served.ts';
import type { KeptEngine, Sleeps } from './sleeper.ts';
import { pause, reasonOf, unlessAborted, within } from './wait.ts';
import { whyNotReady, type NotReady } from './why-not-ready.ts';

type SupervisedRules = {
  /** The configured port; undefined: a free one. */
  readonly port: number | undefined;
  readonly startupMs: number;
  /** A start that prints nothing for this long has failed; 0: never. */
  readonly stallMs: number;
  readonly probeMs: number;
  readonly graceMs: number;
  readonly stopMs: number;
  /** The level it is put to and woken from once, as part of its start. */
  readonly warmUp: NapLevel | undefined;
};

type SupervisedMeans = LifeMeans & { readonly sleeps: Sleeps };

export type Identity = { readonly engine: EngineId; readonly model: ModelId };

/** A driver for engines that are processes of ours. How they are put to sleep is the business of their levels. */
export class SupervisedDriver implements Driver {
  readonly #identity: Identity;
  readonly #family: Family;
  readonly #rules: SupervisedRules;
  readonly #means: SupervisedMeans;
  #life: Life | undefined;
  /** The spawn that is under way: a stop waits for it, since what it brings must be ended too. */
  #spawning: Promise<Life> | undefined;
  #starting: AbortController | undefined;
  #lastChild: Child | undefined;
  /** What it was brought back from, if it was. */
  #kept: KeptEngine | undefined;
  /** What becomes of an image whose way back was given up; the next start waits for it. Never rejects. */
  #dropped: Promise<void> = Promise.resolve();
  /** Whether another catnap looks after it now. */
  #isReleased = false;
  /** False after a warm-up that failed. */
  #warmsUp = true;

  constructor(identity: Identity, family: Family, rules: SupervisedRules, means: SupervisedMeans) {
    this.#identity = identity;
    this.#family = family;
    this.#rules = rules;
    this.#means = means;
  }

  get backend(): Backend | undefined {
    return this.#life?.backend;
  }

  get running(): Running | undefined {
    const life = this.#life;
    if (life === undefined || life.child.hasExited) return undefined;
    return { pid: life.child.pid, port: life.port, commandLine: life.commandLine };
  }

  get dozes(): boolean {
    return this.#life?.backend !== undefined && this.#life.dozes;
  }

  async members(): Promise<readonly number[]> {
    return (this.#life?.nap === undefined ? this.#life?.child.everyone() : this.#life.child.members()) ?? [];
  }

  async hindrance(level: NapLevel, signal: AbortSignal): Promise<string | undefined> {
    return this.#means.sleeps.hindrance(level, this.#living(), signal);
  }

  tail(lines: number): readonly string[] {
    return (this.#life?.child ?? this.#lastChild)?.tail(lines) ?? [];
  }

  async start(order: Order): Promise<Done> {
    invariant(this.#life === undefined && this.#starting === undefined, 'an engine is started while one runs');
    const { clock } = this.#means;
    const stopped = new AbortController();
    const signal = AbortSignal.any([order.signal, stopped.signal]);
    this.#starting = stopped;
    const isThere = this.#means.sleeps.comes();
    const deadline = after(clock.now(), this.#rules.startupMs);
    try {
      const back = await this.#comeBack({ ...order, signal });
      if (back !== undefined) return back;
      const port = await unlessAborted(portFor(this.#identity.model, this.#rules.port, this.#means.processes), signal);
      const launch = await unlessAborted(this.#family.launch(port), signal);
      if (signal.aborted) throw reasonOf(signal);
      const spawnedAt = clock.now();
      this.#spawning = this.#spawn(order.epoch, port, launch);
      const life = await unlessAborted(this.#spawning, signal);
      const readiness = await this.#untilReady(life, deadline, signal);
      if (readiness.kind !== 'ready') throw await this.#failure(life, readiness, signal);
      await this.#load(life, deadline, signal);
      const loadedAt = this.#family.load === undefined ? readiness.firstAnswerAt : clock.now();
      if (signal.aborted) throw reasonOf(signal);
      await this.#warmUp(life, { ...order, signal });
      await this.#keepOrGive('restore', life, signal);
      if (signal.aborted) throw reasonOf(signal);
      if (life.child.hasExited) throw await this.#failure(life, { kind: 'exited' }, signal);
      this.#rouse(life);
      this.#means.sleeps.roused(life);
      return { actMs: loadedAt - spawnedAt, proofMs: clock.now() - loadedAt };
    } finally {
      isThere();
      this.#starting = undefined;
    }
  }

  /** Its connections are closed first, but for those of requests in flight: nothing else may reach an engine that is on its way to sleep. */
  async sleep(level: NapLevel, order: Order): Promise<Done> {
    const life = this.#living();
    life.rest(order.open === true);
    life.nap = level;
    return unlessAborted(this.#means.sleeps.sleep(level, life, order), order.signal);
  }

  async wake(level: NapLevel, order: Order): Promise<Done> {
    const life = this.#living();
    const done = await unlessAborted(this.#means.sleeps.wake(level, life, order), order.signal);
    if (order.signal.aborted) throw reasonOf(order.signal);
    if (life.child.hasExited) throw new DriverError(`${this.#family.name} ended as soon as it was awake`);
    this.#rouse(life);
    this.#means.sleeps.roused(life);
    return done;
  }

  async stop(order: Order): Promise<Done> {
    this.#starting?.abort(new DriverError('stopped while starting'));
    const spawned = await unlessAborted(this.#spawned(), order.signal);
    if (spawned === undefined) return { actMs: 0, proofMs: 0 };
    const wasAwake = spawned.backend !== undefined && spawned.nap === undefined;
    spawned.hush('the engine is being stopped');
    spawned.stopping ??= this.#end(spawned, wasAwake);
    return unlessAborted(spawned.stopping, order.signal);
  }

  async prove(signal: AbortSignal): Promise<boolean> {
    const life = this.#life;
    return life?.backend !== undefined && life.nap === undefined && life.works(signal);
  }

  release(): HandedLife | null {
    const life = this.#life;
    if (life === undefined) return null;
    this.#isReleased = true;
    const memory = { levels: this.#means.sleeps.memory(), family: memoryOf(this.#family) };
    return { process: life.release(), launched: life.launched, memory, prepared: this.#kept?.prepared };
  }

  /** Whatever becomes of this, there is something to be stopped from the first moment on. */
  async adopt({ phase, life: handed }: Adopted, { epoch, signal }: Order): Promise<void> {
    invariant(handed !== null && this.#life === undefined, 'an engine is adopted without a process, or beside another');
    const { process, launched, memory, prepared } = handed;
    const { sleeps, processes, events } = this.#means;
    recall(this.#family, memory.family);
    const life = this.#live(await processes.adopt(process), epoch, process.port, launched);
    this.#spawning = Promise.resolve(life);
    const { commandLine, port, child } = life;
    events.spawned({ pid: child.pid, port, commandLine, adopted: true });
    await sleeps.recall(memory.levels, life);
    if (prepared === true) this.#kept = await preparedFor(this.#identity.engine, sleeps);
    if (phase.kind === 'asleep') {
      life.sleepOn(phase.level);
      return;
    }
    this.#rouse(life);
    life.takeBack(child); // it may have ended before anybody listened
    const slow = await signOfAdopted(life, this.#family, { probeMs: this.#rules.probeMs, signal });
    if (slow !== undefined) events.warned(slow);
    if (!child.hasExited) sleeps.roused(life);
  }

  /** Brings it back from the image that an earlier catnap has kept of it; undefined: it has to be started afresh. */
  async #comeBack(order: Order): Promise<Done | undefined> {
    const { sleeps, events } = this.#means;
    const { signal } = order;
    await unlessAborted(this.#dropped, signal);
    const kept = await unlessAborted(sleeps.kept(this.#identity.engine), signal);
    if (kept === undefined) return undefined;
    let life: Life | undefined;
    try {
      const launched = await unlessAborted(this.#asKept(kept), signal);
      const returning = kept.begin(signal);
      this.#spawning = returning.then(({ child }) => {
        const back = this.#live(child, order.epoch, kept.port, launched);
        back.nap = 4;
        return back;
      });
      life = await unlessAborted(this.#spawning, signal);
      const done = await unlessAborted(kept.finish(life, await returning, order), signal);
      if (signal.aborted) throw reasonOf(signal);
      if (life.child.hasExited) throw new DriverError('it ended as soon as it was awake');
      this.#kept = kept;
      const { commandLine, child } = life;
      events.spawned({ pid: child.pid, port: kept.port, commandLine, savedAt: kept.savedAt });
      this.#rouse(life);
      sleeps.roused(life);
      return done;
    } catch (error) {
      if (signal.aborted) {
        this.#dropped = this.#abandon(kept);
        throw reasonOf(signal);
      }
      const why = error instanceof Error ? error.message : String(error);
      events.warned(`it is started afresh and not brought back as it was at ${kept.savedAt}: ${why}`);
      this.#spawning = undefined;
      await (life === undefined ? kept.letBe() : this.#giveUp(life, kept));
      return undefined;
    }
  }

  /** With what it would be started now, if that is with what it was started then. */
  async #asKept(kept: KeptEngine): Promise<Launched> {
    const { port } = this.#rules;
    if (port !== undefined && port !== kept.port)
      throw new DriverError(`it listened on port ${kept.port}, and its port is ${port} now`);
    const launched = await this.#family.launch(kept.port);
    const change = await kept.change(launched);
    if (change !== undefined) throw new DriverError(change);
    return launched;
  }

  /** What has come back is of no use: nothing of it may be left when another is started. */
  async #giveUp(life: Life, kept: KeptEngine): Promise<void> {
    life.stopping ??= this.#end(life, false);
    await life.stopping;
    await kept.remove();
  }

  /** Nobody waits for what is on its way back: it is ended once it is there, and its image and its port are let go of. */
  async #abandon(kept: KeptEngine): Promise<void> {
    const life = await this.#spawned();
    try {
      if (life !== undefined) await (life.stopping ??= this.#end(life, false));
    } catch (error) {
      this.#means.events.warned(error instanceof Error ? error.message : String(error));
    } finally {
      await kept.letBe();
    }
  }

  async #load(life: Life, deadline: Millis, signal: AbortSignal): Promise<void> {
    const { clock } = this.#means;
    const { name, load } = this.#family;
    if (load === undefined) return;
    const rules = {
      forMs: deadline - clock.now(),
      stallMs: this.#rules.stallMs,
      what: `${name} loads`,
      child: life.child,
    };
    const work = whileHeard(rules, clock, signal, (terms) => load(life, terms));
    const end = await work.then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error : new DriverError(String(error))),
    );
    if (signal.aborted) throw reasonOf(signal);
    if (life.child.hasExited) throw await this.#failure(life, { kind: 'exited' }, signal);
    if (end !== undefined) throw end;
  }

  /** The first sleep takes host memory and is slow, so it is had before anybody waits. One that fails spoils this start and no other. */
  async #warmUp(life: Life, order: Order): Promise<void> {
    const { sleeps, events } = this.#means;
    const { warmUp } = this.#rules;
    if (warmUp === undefined || !this.#warmsUp) return;
    const hindrance = await sleeps.hindrance(warmUp, life, order.signal);
    if (order.signal.aborted) throw reasonOf(order.signal);
    if (hindrance !== undefined) {
      events.warned(`not warmed up: ${hindrance}`);
      return;
    }
    this.#warmsUp = false;
    life.nap = warmUp;
    await unlessAborted(sleeps.sleep(warmUp, life, order), order.signal);
    await unlessAborted(sleeps.wake(warmUp, life, order), order.signal);
    this.#warmsUp = true;
  }

  /** Requests can go to it from now on. For as long as they can, it is looked at whether it sleeps all the same. */
  #rouse(life: Life): void {
    if (!life.rouse()) return;
    const { doze } = this.#family;
    const gone = life.backend?.gone;
    if (doze === undefined || gone === undefined) return;
    life.dozes = false;
    const watch = async (): Promise<void> => {
      for (;;) {
        await pause(this.#means.clock, doze.everyMs, gone);
        if (gone.aborted || this.#isReleased) return;
        const found = await doze.look(life.origin, gone);
        if (!gone.aborted) life.dozes = found;
      }
    };
    void watch();
  }

  /** Takes a third of the time for a stop at most, on either way: beyond that it is no gain. */
  async #keepOrGive(what: 'save' | 'restore', life: Life, signal: AbortSignal): Promise<void> {
    const { conversations } = this.#family;
    if (conversations === undefined) return;
    const { clock, events } = this.#means;
    const trouble = await within(clock, this.#rules.stopMs / 3, signal, (limit) => conversations[what](life, limit));
    if (trouble !== undefined) events.warned(trouble);
  }

  #living(): Life {
    const life = this.#life;
    if (life === undefined) throw new DriverError(`${this.#family.name} does not run`);
    return life;
  }

  async #spawn(born: number, port: number, launched: Launched): Promise<Life> {
    const child = await this.#means.processes.spawn({ ...this.#identity, ...launched, port }).catch(notSpawned);
    const life = this.#live(child, born, port, launched);
    this.#means.events.spawned({ pid: child.pid, port, commandLine: life.commandLine });
    return life;
  }

  #live(child: Child, born: number, port: number, launched: Launched): Life {
    const { graceMs, stopMs: boundMs, probeMs } = this.#rules;
    const commandLine = shown(launched.argv);
    const ending = { graceMs, boundMs, command: this.#family.stopCommand?.(child.pid, port) };
    const terms = { ...this.#identity, born, port, commandLine, launched, family: this.#family, ending, probeMs };
    const events = { ...this.#means.events, exited: (of: number, reason: string) => this.#exited(of, reason) };
    const life = new Life(terms, child, { ...this.#means, events });
    this.#life = life;
    this.#lastChild = child;
    return life;
  }

  /** What an engine was brought back from that has failed since is not used again. */
  #exited(born: number, reason: string): void {
    void this.#kept?.remove();
    this.#kept = undefined;
    this.#means.events.exited(born, reason);
  }

  #untilReady(life: Life, deadline: Millis, signal: AbortSignal): Promise<Readiness> {
    const { clock, http } = this.#means;
    const { stallMs, probeMs } = this.#rules;
    const url = life.origin + this.#family.readinessPath;
    return untilReady(
      life.child,
      (limitMs, over) => http.call({ method: 'GET', url, limitMs, signal: over }),
      (answer) => this.#family.isReady(answer),
      { deadline, stallMs, probeMs },
      clock,
      signal,
    );
  }

  #failure({ child }: Life, readiness: NotReady, signal: AbortSignal): Promise<Error> {
    return whyNotReady(child, readiness, { ...this.#rules, family: this.#family }, signal);
  }

  /** The process that exists or is about to; undefined when there is none. */
  async #spawned(): Promise<Life | undefined> {
    try {
      await this.#spawning;
    } catch {
      // The start that asked for it has told why.
    }
    return this.#life;
  }

  async #end(life: Life, wasAwake: boolean): Promise<Done> {
    const { nap } = life;
    const { clock, sleeps } = this.#means;
    const bound = after(clock.now(), this.#rules.stopMs);
    try {
      if (wasAwake) await this.#keepOrGive('save', life, new AbortController().signal);
      const untilFree = await sleeps.ending(life, nap === undefined);
      const { actMs, proofMs } = await life.end(nap === undefined || sleeps.hears(nap));
      await this.#family.conversations?.ended();
      const endedAt = clock.now();
      await untilFree(bound - endedAt);
      this.#lastChild = life.child;
      this.#life = undefined;
      this.#spawning = undefined;
      if (nap !== undefined) await sleeps.discard(nap);
      return { actMs, proofMs: proofMs + clock.now() - endedAt };
    } finally {
      life.stopping = undefined;
    }
  }
}
