import { after, millis, type Millis } from '../core/kinds.ts';
import { DriverError } from '../engines/driver.ts';
import { pause, reasonOf } from '../engines/wait.ts';
import type { Clock } from '../ports/clock.ts';
import type { Gpu, GpuDevice, GpuReading } from '../ports/gpu.ts';

type Means = { readonly clock: Clock; readonly gpu: Gpu };

/** By how much each GPU has to be free, by its name. */
export type Needs = ReadonlyMap<string, number>;

const LOOK_EVERY_MS = 100;
/** A look takes a tenth of a second or more, so it is old when it comes; one that came so long ago does as well where none of ours has taken memory since. */
const RECENT_MS = 250;

/** Whether the GPUs have room for an engine that comes back. One for all engines, since they take it from each other. */
export class Room {
  readonly #means: Means;
  /** How many are on their way to be awake, and when the last of them was there. */
  #coming = 0;
  #cameAt: Millis = millis(Number.NEGATIVE_INFINITY);

  constructor(means: Means) {
    this.#means = means;
  }

  /** One of ours begins to take memory, by a start or a wake. Gives what is called once that is over. */
  comes(): () => void {
    this.#coming += 1;
    return () => {
      this.#coming -= 1;
      this.#cameAt = this.#means.clock.now();
    };
  }

  /**
   * Resolves once there is so much, for one that is counted as coming; whoever cannot look believes. The look that proved that another has gone does for this,
   * unless somebody else of ours takes memory or has taken some since.
   */
  async until(needs: Needs, { name, forMs }: { name: string; forMs: number }, signal: AbortSignal): Promise<void> {
    const { clock, gpu } = this.#means;
    const from = clock.now();
    const last = this.#coming > 1 ? undefined : await gpu.read(from - this.#cameAt);
    if (signal.aborted) throw reasonOf(signal);
    if (last?.kind === 'read' && from - last.reading.cameAt <= RECENT_MS && shortIn(last.reading, needs) === undefined)
      return;
    for (;;) {
      const sight = await gpu.read(0);
      if (signal.aborted) throw reasonOf(signal);
      if (sight.kind !== 'read') return;
      const short = shortIn(sight.reading, needs);
      if (short === undefined) return;
      if (clock.now() >= after(from, forMs)) {
        const wanted = needs.get(short.uuid) ?? 0;
        throw new DriverError(
          `${name} needs ${wanted} MiB of ${short.uuid} to come back, and ${short.freeMib} MiB are free`,
        );
      }
      await pause(clock, LOOK_EVERY_MS, signal);
    }
  }
}

const shortIn = ({ devices }: GpuReading, needs: Needs): GpuDevice | undefined =>
  devices.find(({ uuid, freeMib }) => freeMib < (needs.get(uuid) ?? 0));
