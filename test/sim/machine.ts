import type { EngineCommand, EngineEvent } from '../../src/core/engine.ts';
import { unreachable, type EngineId } from '../../src/core/kinds.ts';
import type { Took } from '../../src/core/swap.ts';
import type { Hold } from './hold.ts';
import type { Faults, ModelPlan } from './plan.ts';
import type { Random } from '../../src/simulate/random.ts';
import { must } from './violation.ts';

export type MachineOptions = {
  readonly id: EngineId;
  readonly plan: ModelPlan;
  readonly faults: Faults;
  readonly random: Random;
  /** The memory it takes; undefined where nobody looks at that. */
  readonly hold: Hold | undefined;
  /** Runs something later; the time is rounded as the world wants it. */
  readonly in: (ms: number, run: () => void) => void;
  readonly now: () => number;
  /** Whether a start that fails has run out of memory. */
  readonly short: () => boolean;
  readonly tell: (event: EngineEvent, took?: Took) => void;
  /** Whose process it takes over. */
  readonly before?: Machine | undefined;
};

type Order = { readonly epoch: number; readonly command: EngineCommand; readonly since: number };

/** The process behind an engine and its driver, as unkind as they can be. It knows nothing of the engine's own idea of itself. */
export class Machine {
  readonly #options: MachineOptions;
  /** Something of it may still run, and take memory, until a stop has proven it gone. */
  #process: { readonly born: number; leads: boolean } | undefined;
  #order: Order | undefined;
  #sleeps = false;
  /** How many more stops will not work. */
  #stubborn = 0;

  constructor(options: MachineOptions) {
    this.#options = options;
    const { before } = options;
    if (before === undefined) return;
    // Its start was the first command of an engine that is handed over.
    this.#sleeps = before.#sleeps;
    if (before.#process !== undefined) this.#process = { born: 1, leads: before.#process.leads };
    this.#stubborn = before.#stubborn;
  }

  get plan(): ModelPlan {
    return this.#options.plan;
  }

  get hold(): Hold | undefined {
    return this.#options.hold;
  }

  /** Whoever takes it over sees for itself whether it is alive. */
  tellOfItsEnd(): void {
    if (this.#process?.leads === false) this.#notice(this.#process.born, 'it had ended');
  }

  /** How much memory it really holds. */
  get heldMib(): number {
    return this.#options.hold?.mib ?? 0;
  }

  /** Whether the leader of the process group is alive. */
  get lives(): boolean {
    return this.#process?.leads ?? false;
  }

  /** Carries out a command. One that is still in hand is dropped, which only a stop or a deeper sleep may do. */
  run(epoch: number, command: EngineCommand): void {
    const { id } = this.#options;
    const before = this.#order;
    if (before !== undefined) {
      const told = `${id} is told to ${command.kind} while it has to ${before.command.kind}`;
      const deeper = command.kind === 'sleep' && before.command.kind === 'sleep';
      must(deeper || (command.kind === 'stop' && before.command.kind !== 'stop'), told);
      this.#forget(before);
    }
    const order = { epoch, command, since: this.#options.now() };
    this.#order = order;
    switch (command.kind) {
      case 'start':
        return this.#start(order);
      case 'sleep':
      case 'wake':
        return this.#nap(order, command.kind);
      case 'stop':
        return this.#stop(order);
      default:
        return unreachable(command);
    }
  }

  /** The engine has given up waiting for the answer. */
  giveUp(epoch: number): void {
    if (this.#order?.epoch === epoch) this.#forget(this.#order);
  }

  /** The leader of the process group dies. */
  crash(reason: string): void {
    const process = this.#process;
    if (process === undefined || !process.leads) return;
    process.leads = false;
    this.#notice(process.born, reason);
  }

  /** What it sleeps in is lost: nothing of it runs, and nothing will. */
  loseSleep(late: number): void {
    const process = this.#process;
    if (!this.#sleeps || this.#order !== undefined || process?.leads !== true) return;
    process.leads = false;
    this.#options.in(late, () => this.#options.tell({ kind: 'sleep-lost', born: process.born }));
  }

  #start(order: Order): void {
    const { faults, plan, random, id } = this.#options;
    must(this.#process === undefined, `${id} starts beside a process that was not proven gone`);
    this.#process = { born: order.epoch, leads: true };
    const limit = plan.rules.limits.start;
    const usual = Math.min(random.around(plan.startMs), limit * 0.7);
    const ms = random.chance(faults.startSlow) ? random.between(limit / 2, limit * 1.2) : usual;
    this.#options.hold?.takes(ms);
    if (random.chance(faults.startHangs)) return;
    if (random.chance(faults.exits)) this.#exitDuring(order, ms);
    else this.#finish(order, ms, random.chance(faults.startFails));
  }

  #nap(order: Order, kind: 'sleep' | 'wake'): void {
    const { faults, plan, random } = this.#options;
    const asleep = kind === 'sleep';
    const hangs = random.chance(asleep ? faults.sleepHangs : faults.wakeHangs);
    const ms = hangs ? plan.napMs : Math.min(random.around(plan.napMs), plan.rules.limits[kind] * 0.7);
    if (asleep) this.#options.hold?.gives(ms);
    else this.#options.hold?.takes(ms);
    if (hangs) return;
    if (random.chance(faults.exits)) this.#exitDuring(order, ms);
    else this.#finish(order, ms, random.chance(asleep ? faults.sleepFails : faults.wakeFails));
  }

  #stop(order: Order): void {
    const { faults, plan, random } = this.#options;
    if (this.#process === undefined) return this.#finish(order, 0, false);
    const ms = Math.min(random.around(plan.napMs), plan.rules.limits.stop * 0.7);
    this.#options.hold?.gives(ms);
    const hangs = random.chance(faults.stopHangs);
    if (this.#stubborn === 0 && (hangs || random.chance(faults.stopFails))) this.#stubborn = random.int(1, 3);
    if (this.#stubborn === 0) return this.#finish(order, ms, false);
    this.#stubborn--;
    if (!hangs) this.#finish(order, ms, true);
    return undefined;
  }

  /** Exit and answer are told by different roads, so either may come first. */
  #exitDuring(order: Order, ms: number): void {
    const { random } = this.#options;
    this.#options.in(ms * random.next(), () => {
      if (this.#order === order) this.crash('it exited');
    });
    this.#finish(order, ms, true);
  }

  #finish(order: Order, ms: number, fails: boolean): void {
    this.#options.in(ms, () => {
      if (this.#order !== order) return;
      this.#order = undefined;
      this.#answer(order, fails);
    });
  }

  #answer({ epoch, command, since }: Order, fails: boolean): void {
    const { random, plan, tell, hold } = this.#options;
    const process = this.#process;
    const lost = command.kind !== 'stop' && process?.leads !== true;
    if (fails || lost) {
      this.#undo(command);
      const short = command.kind === 'start' && this.#options.short();
      const why = { reason: `the ${command.kind} went wrong`, ...(short && { trouble: 'out_of_memory' as const }) };
      return tell({ kind: 'command-failed', epoch, ...why });
    }
    if (command.kind === 'stop') {
      if (process !== undefined && random.chance(0.5)) this.#notice(process.born, 'it was stopped');
      this.#process = undefined;
    }
    this.#sleeps = command.kind === 'sleep';
    if (command.kind === 'start' || command.kind === 'wake') hold?.hasAll();
    else hold?.hasNothing();
    const ms = this.#options.now() - since;
    const actMs = ms * random.next();
    const hostMib =
      command.kind === 'sleep' && plan.hostMib > 0 ? plan.hostMib + (Math.trunc(epoch / 4) % 2) : undefined;
    return tell({ kind: 'command-done', epoch }, { actMs, proofMs: ms - actMs, hostMib });
  }

  /** What was suspended half way is brought back, unless the process has gone by then. */
  #undo(command: EngineCommand): void {
    const suspends = command.kind === 'sleep' && (command.level === 3 || command.level === 'hybrid');
    if (suspends && this.#process !== undefined) this.#options.hold?.takesBack();
  }

  /** Its answer is not waited for any more. It may come all the same, and a stop may have worked. */
  #forget({ epoch, command }: Order): void {
    const { faults, plan, random, tell, hold } = this.#options;
    this.#order = undefined;
    if (command.kind === 'stop' && random.chance(0.3)) {
      this.#process = undefined;
      hold?.hasNothing();
    }
    const before = hold?.settled;
    if (hold !== undefined && command.kind === 'sleep')
      this.#options.in(plan.napMs, () => {
        if (hold.settled === before) this.#undo(command);
      });
    if (!random.chance(faults.lateAnswers)) return;
    const event: EngineEvent = random.chance(0.5)
      ? { kind: 'command-done', epoch }
      : { kind: 'command-failed', epoch, reason: 'superseded' };
    this.#options.in(random.chance(0.5) ? 0 : random.around(3_000), () => tell(event));
  }

  #notice(born: number, reason: string): void {
    const { faults, random, tell } = this.#options;
    const late = random.chance(faults.lateNotices) ? random.around(3_000) : 0;
    this.#options.in(late, () => tell({ kind: 'process-exited', born, reason }));
  }
}
