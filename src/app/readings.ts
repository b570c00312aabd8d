import type { ModelId, Millis } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { Gpu } from '../ports/gpu.ts';
import type { StageView } from '../runtime/view.ts';
import type { KinOf } from './kin-from.ts';

/** So old is what is shown at most, unless the machine is slow to tell. */
const EVERY_MS = 5_000;

export type Seen = {
  readonly gpus: readonly { readonly gpu: string; readonly totalBytes: number; readonly usedBytes: number }[];
  readonly hostBytes: ReadonlyMap<ModelId, number>;
};

type Means = {
  readonly clock: Clock;
  readonly gpu: Gpu;
  readonly view: () => StageView;
  readonly kinOf: KinOf;
  readonly residentBytes: (pids: readonly number[]) => Promise<number>;
  readonly bug: (error: unknown) => void;
};

const MIB = 1_048_576;

/** What the machine holds, as it was a moment ago. Whoever asks is told what is known and waits for nothing; a new look is begun for the next one. */
export class Readings {
  readonly #means: Means;
  #seen: Seen = { gpus: [], hostBytes: new Map() };
  #begun: Millis | undefined;
  #looking = false;

  constructor(means: Means) {
    this.#means = means;
  }

  latest(): Seen {
    const { clock, bug } = this.#means;
    const isOld = this.#begun === undefined || clock.now() - this.#begun >= EVERY_MS;
    if (isOld && !this.#looking) void this.look().catch(bug);
    return this.#seen;
  }

  async look(): Promise<void> {
    const { clock, gpu } = this.#means;
    this.#looking = true;
    this.#begun = clock.now();
    try {
      const [sight, hostBytes] = await Promise.all([gpu.read(EVERY_MS), this.#hostBytes()]);
      const devices = sight.kind === 'read' ? sight.reading.devices : [];
      const gpus = devices.map(({ index, totalMib, usedMib }) => ({
        gpu: String(index),
        totalBytes: totalMib * MIB,
        usedBytes: usedMib * MIB,
      }));
      this.#seen = { gpus, hostBytes };
    } finally {
      this.#looking = false;
    }
  }

  async #hostBytes(): Promise<ReadonlyMap<ModelId, number>> {
    const { view, kinOf, residentBytes } = this.#means;
    const running = view().models.map(({ model, engines }) => ({
      model,
      leaders: engines.flatMap(({ pid }) => pid ?? []),
    }));
    const kin = await kinOf(running.flatMap(({ leaders }) => leaders));
    const held = await Promise.all(
      running.map(async ({ model, leaders }) => {
        const bytes = await residentBytes(leaders.flatMap((leader) => kin.get(leader) ?? [leader]));
        return [model, bytes] as const;
      }),
    );
    return new Map(held);
  }
}
