import { FOREVER, type ModelId } from './kinds.ts';

/** How much host memory something holds, in MiB. */
export type HostMemory = { readonly mib: number };

/** What the stages of one catnap have in common: the numbers of their swaps, and how many models may be on their way in at a time. */
export class Commons {
  #mostLoads: number;
  /** Who is on its way in, on any stage. */
  readonly #loading = new Set<ModelId>();
  /** Who has room and waits for a place among them, in the order in which they asked. */
  #line: ModelId[] = [];
  #swaps = 0;
  /** Those who say how much host memory the sleepers of a stage hold. */
  readonly #holders = new Set<HostMemory>();

  constructor(mostLoads: number = FOREVER) {
    this.#mostLoads = mostLoads;
  }

  /** How many may load at a time from now on. Who loads already goes on; who waits has to be looked at again. */
  allow(mostLoads: number = FOREVER): void {
    this.#mostLoads = mostLoads;
  }

  nextSwap(): number {
    return ++this.#swaps;
  }

  /** Whether it may begin to load now. If not, it stands in line from now on. */
  mayLoad(model: ModelId): boolean {
    if (!this.#line.includes(model)) this.#line.push(model);
    return this.#line.indexOf(model) < this.#mostLoads - this.#loading.size;
  }

  /** It loads, whether or not it was in line: an engine that died in its turn is brought back at once. */
  load(model: ModelId): void {
    this.#leaveLine(model);
    this.#loading.add(model);
  }

  /** It is awake, or wanted no more. True when somebody in line may have been waiting for that. */
  over(model: ModelId): boolean {
    const stood = this.#leaveLine(model);
    return (this.#loading.delete(model) || stood) && this.#line.length > 0;
  }

  /** Whether it has room and waits only for others to have loaded. */
  waits(model: ModelId): boolean {
    return this.#line.includes(model);
  }

  /** Its sleepers count with those of the others from now on. */
  join(holder: HostMemory): void {
    this.#holders.add(holder);
  }

  /** What sleepers of other stages hold. */
  hostMibBeside(holder: HostMemory): number {
    let sum = 0;
    for (const other of this.#holders) if (other !== holder) sum += other.mib;
    return sum;
  }

  #leaveLine(model: ModelId): boolean {
    const before = this.#line.length;
    this.#line = this.#line.filter((other) => other !== model);
    return this.#line.length < before;
  }
}
