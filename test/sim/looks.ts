import { after, type EngineId, type Millis } from '../../src/core/kinds.ts';
import type { MemoryReading } from '../../src/core/overlap.ts';
import type { Random } from '../../src/simulate/random.ts';
import type { MemoryPlan } from './memory-plan.ts';
import type { Theatre } from './theatre.ts';

type World = { readonly theatre: Theatre; readonly now: () => Millis; heldBy(engine: EngineId): number };
type Later = (ms: number, run: () => void) => void;

/** Looks at the memory while somebody waits for that of others. They take time, and overtake each other. */
export class Looks {
  readonly #world: World;
  readonly #memory: MemoryPlan;
  readonly #random: Random;
  readonly #later: Later;
  #open = 0;

  constructor(world: World, memory: MemoryPlan, random: Random, later: Later) {
    this.#world = world;
    this.#memory = memory;
    this.#random = random;
    this.#later = later;
  }

  /** Whenever something has moved. */
  begin(): void {
    const { theatre } = this.#world;
    const random = this.#random;
    if (theatre.stage.leavers === undefined || this.#open >= 2) return;
    this.#open++;
    this.#later(random.around(60), () => {
      const reading = this.#look();
      this.#later(random.chance(0.1) ? random.around(1_500) : random.around(40), () => {
        this.#open--;
        if (reading !== undefined) theatre.post({ kind: 'memory-read', reading });
        else this.begin();
      });
    });
  }

  /** Of some engines it is only known that they hold no more than all that is used, of some nothing. */
  #look(): MemoryReading | undefined {
    const { theatre, now } = this.#world;
    const [memory, random] = [this.#memory, this.#random];
    const heldBy = (engine: EngineId): number => this.#world.heldBy(engine);
    const { leavers } = theatre.stage;
    if (leavers === undefined) return undefined;
    const used = memory.foreignMib + theatre.engines.reduce((sum, engine) => sum + heldBy(engine), 0);
    const heldMib = new Map<EngineId, number>();
    // At times more is told than was asked for.
    const engines = random.chance(0.3) ? theatre.engines : [...leavers.draining, ...leavers.leaving];
    for (const engine of engines) {
      if (!random.chance(0.1)) heldMib.set(engine, random.chance(0.2) ? used : heldBy(engine));
    }
    return { memory: memory.kind, takenAt: after(now(), 0), freeMib: memory.totalMib - used, heldMib };
  }
}
