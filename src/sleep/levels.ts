import type { EngineId, NapLevel } from '../core/kinds.ts';
import { DriverError, type Done, type Order } from '../engines/driver.ts';
import type { KeptEngine, Sleeper, Sleeps } from '../engines/sleeper.ts';
import { pause, reasonOf, within } from '../engines/wait.ts';
import type { HandedMark, LevelsMemory } from '../ports/handover.ts';
import type { EndProof, Holding } from './end-proof.ts';
import { compare, isRubbish, readyAndSampled, sampled, type Hearing } from './hearing.ts';
import type { Level } from './level.ts';
import type { Mark, MemoryProof } from './memory.ts';
import type { Room } from './room.ts';
import { timed } from './timed.ts';
import { LEVEL_TRAITS } from './traits.ts';

export type Proofs = {
  readonly memory: MemoryProof;
  readonly end: EndProof;
  readonly room: Room;
  readonly hearing: Hearing;
  /** Told once for each engine that nothing can be read of its memory. */
  readonly warned: (message: string) => void;
};

/** What an engine holds is looked at so long after it is awake: the look starts programs, and the first request is on its way to it. */
const LOOK_AFTER_MS = 50;

/** Those that do not look at what it says themselves. */
const ASKED_HERE: ReadonlySet<NapLevel> = new Set([1, 3]);

/** The levels of one engine. Every sleep and every wake goes through here, so that none is without its proofs. */
export class Levels implements Sleeps {
  readonly #levels: ReadonlyMap<NapLevel, Level>;
  readonly #proofs: Proofs;
  /** What it held when it was last awake. */
  #mark: Promise<Mark> | undefined;
  /** The same, once it is known. */
  #latest: Mark | undefined;
  /** Begins the look at once that waits for the first request to be on its way. */
  #hurry = new AbortController();
  /** The last of those that told of its own processes, these or those before them. */
  #seen: Mark | undefined;
  /** What it answered to the sample question when it was well. */
  #well: string | undefined;
  #hasWarned = false;
  /** Whether it sleeps with requests in flight: it may have no place for a question, and what it works on will tell. */
  #open = false;

  constructor(levels: readonly Level[], proofs: Proofs) {
    this.#levels = new Map(levels.map((level) => [level.level, level]));
    this.#proofs = proofs;
  }

  get available(): readonly NapLevel[] {
    return [...this.#levels.keys()];
  }

  comes(): () => void {
    return this.#proofs.room.comes();
  }

  roused(sleeper: Sleeper): void {
    if (!this.available.some((level) => LEVEL_TRAITS[level].lives)) return;
    this.#hurry = new AbortController();
    this.#noted(this.#lookLater(sleeper, this.#hurry.signal));
  }

  async #lookLater(sleeper: Sleeper, hurry: AbortSignal): Promise<Mark> {
    await pause(sleeper.clock, LOOK_AFTER_MS, hurry);
    return sleeper.child.hasExited ? { kind: 'unseen', reason: 'it has ended' } : this.#look(sleeper);
  }

  #noted(mark: Promise<Mark>): void {
    this.#mark = mark;
    mark.then(
      (seen) => {
        if (this.#mark === mark) this.#latest = seen;
      },
      () => {}, // whoever needs it is told
    );
  }

  hindrance(level: NapLevel, sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined> {
    return this.#way(level, sleeper).hindrance(sleeper, signal);
  }

  async sleep(level: NapLevel, sleeper: Sleeper, order: Order): Promise<Done> {
    const way = this.#way(level, sleeper);
    this.#open = order.open === true;
    const hindrance = await this.hindrance(level, sleeper, order.signal);
    if (hindrance !== undefined) throw new DriverError(hindrance);
    if (!LEVEL_TRAITS[level].lives) return this.#leave(way, sleeper, order);
    if (ASKED_HERE.has(level) && !this.#open)
      this.#well ??= await sampled(sleeper, this.#proofs.hearing.answerMs, order.signal);
    const before = await this.#before(sleeper);
    const { actMs, proofMs } = await way.sleep(sleeper, order);
    if (before.kind === 'unseen') this.#believe(sleeper, before.reason);
    let gpuMib: number | undefined;
    const clear = await timed(sleeper.clock, async () => {
      gpuMib = await this.#isBack(level, before, sleeper, order.signal);
    });
    return { actMs, proofMs: proofMs + clear.actMs, left: { gpuMib, diskMib: 0 } };
  }

  async ending(sleeper: Sleeper, isAwake: boolean): Promise<(withinMs: number) => Promise<void>> {
    const held = await this.#held(sleeper, isAwake);
    return (withinMs) => this.#untilFree(sleeper, held, withinMs);
  }

  async wake(level: NapLevel, sleeper: Sleeper, order: Order): Promise<Done> {
    const isThere = this.comes();
    try {
      const { actMs, proofMs } = await this.#way(level, sleeper).wake(sleeper, order);
      const answers = await timed(sleeper.clock, () => this.#answers(level, sleeper, order.signal));
      return { actMs, proofMs: proofMs + answers.actMs };
    } finally {
      isThere();
    }
  }

  async kept(engine: EngineId): Promise<KeptEngine | undefined> {
    for (const level of this.#levels.values()) {
      const kept = await level.kept?.(engine);
      if (kept !== undefined) return { ...kept, finish: (...terms) => this.#finish(kept, terms) };
    }
    return undefined;
  }

  async #finish(kept: KeptEngine, [sleeper, returning, order]: Parameters<KeptEngine['finish']>): Promise<Done> {
    const { actMs, proofMs } = await kept.finish(sleeper, returning, order);
    const answers = await timed(sleeper.clock, () => this.#answers(4, sleeper, order.signal));
    return { actMs, proofMs: proofMs + answers.actMs };
  }

  memory(): LevelsMemory {
    const each = [...this.#levels].map(([level, way]) => [String(level), way.memory?.() ?? {}] as const);
    const held = this.#latest && heldOf(this.#latest);
    return { held, sample: this.#well, each: Object.fromEntries(each) };
  }

  async recall({ held, sample, each }: LevelsMemory, sleeper: Sleeper): Promise<void> {
    this.#well = sample;
    if (held !== undefined)
      this.#noted(
        Promise.resolve(held.kind === 'devices' ? { ...held, usedMib: new Map(Object.entries(held.usedMib)) } : held),
      );
    for (const [level, way] of this.#levels) {
      const known = each[String(level)];
      if (known !== undefined) await way.recall?.(known, sleeper);
    }
  }

  hears(level: NapLevel): boolean {
    return LEVEL_TRAITS[level].hearsSignals;
  }

  async discard(level: NapLevel): Promise<void> {
    this.#mark = this.#latest = undefined;
    await this.#levels.get(level)?.discard?.();
  }

  #way(level: NapLevel, { name }: Sleeper): Level {
    const way = this.#levels.get(level);
    if (way === undefined) throw new DriverError(`${name} cannot be put to sleep at level ${level}`);
    return way;
  }

  /** To where no process is left. */
  async #leave(way: Level, sleeper: Sleeper, order: Order): Promise<Done> {
    const held = await this.#held(sleeper, true);
    const { actMs, proofMs, left } = await way.sleep(sleeper, order);
    const free = await timed(sleeper.clock, () => this.#untilFree(sleeper, held, undefined, order.signal));
    return { actMs, proofMs: proofMs + free.actMs, left };
  }

  async #held({ child }: Sleeper, isAwake: boolean): Promise<Holding | undefined> {
    return this.#proofs.end.before(await child.everyone(), isAwake);
  }

  /** Nothing more can be done about memory that is still taken when nobody is left to end; the next start will tell. */
  async #untilFree({ model, name }: Sleeper, held?: Holding, withinMs?: number, signal?: AbortSignal): Promise<void> {
    if (held === undefined) return;
    const left = await this.#proofs.end.free(held, withinMs, signal);
    if (left !== undefined) this.#proofs.warned(`${model}: ${name} has ended, and ${left}`);
  }

  async #look({ child }: Sleeper): Promise<Mark> {
    return this.#proofs.memory.mark(await child.everyone());
  }

  /** A driver that says nothing now and has told what it held before is no reason to believe an engine. */
  async #before(sleeper: Sleeper): Promise<Mark> {
    this.#hurry.abort();
    const noted = await this.#mark;
    const mark = noted === undefined || noted.kind === 'unseen' ? await this.#look(sleeper) : noted;
    if (mark.kind === 'own') this.#seen = mark;
    return mark.kind === 'unseen' ? (this.#seen ?? mark) : mark;
  }

  async #isBack(
    level: NapLevel,
    before: Mark,
    { name, child }: Sleeper,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { gpu, hearsSignals } = LEVEL_TRAITS[level];
    const promised = gpu === 'nothing' ? 'all' : 'most';
    // All of one that is frozen were looked for while it was being locked, and it starts nothing.
    const pids = () => (hearsSignals ? child.everyone() : child.members());
    try {
      return await this.#proofs.memory.back(before, promised, pids, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new DriverError(`${name} said that it sleeps at level ${level}, and memory is not back: ${why}`);
    }
  }

  /** Ready by its own word, and then by its work: memory that came back spoilt makes an engine that is healthy and talks rubbish. */
  async #answers(level: NapLevel, sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const { answerMs } = this.#proofs.hearing;
    if (!this.#open && this.#levels.get(level)?.hasSpoken === true) return;
    if (this.#open || !ASKED_HERE.has(level) || this.#well === undefined || isRubbish(this.#well)) {
      await sleeper.untilReady(answerMs, signal);
      if (this.#open) return;
    } else {
      const said = await readyAndSampled(sleeper, answerMs, signal);
      if (said !== undefined && isRubbish(said))
        throw new DriverError(`${sleeper.name} answers rubbish after level ${level} (${JSON.stringify(said)})`);
      compare(this.#proofs.hearing, level, sleeper, this.#well, said);
      if (said !== undefined) return;
    }
    if (await within(sleeper.clock, answerMs, signal, (limit) => sleeper.works(limit))) return;
    if (signal.aborted) throw reasonOf(signal);
    throw new DriverError(`${sleeper.name} is awake by its own word, and answers nothing within ${answerMs / 1_000} s`);
  }

  #believe({ model, name }: Sleeper, reason: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#proofs.warned(
      `${model}: whether ${name} frees memory cannot be seen, since ${reason}; its word is taken for it`,
    );
  }
}

const heldOf = (mark: Mark): HandedMark =>
  mark.kind === 'devices' ? { ...mark, usedMib: Object.fromEntries(mark.usedMib) } : mark;
