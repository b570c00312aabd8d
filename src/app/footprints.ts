import { createHash } from 'node:crypto';
import { footprintFile, type SavedFootprint } from '../adapters/footprint-file.ts';
import type { Config } from '../config/schema.ts';
import type { HeldMib } from '../core/costs.ts';
import { DEPTH } from '../core/depth.ts';
import { holdsHost } from '../core/residency.ts';
import type { Verdict } from '../ports/verdicts.ts';
import { awakeMib } from '../validate/seen.ts';
import type { Learned } from './stages.ts';

/** What models take that do not say it: as it was seen when they were loaded, else when they were validated. */
export const learnedFrom =
  (footprints: Pick<Footprints, 'of'>, verdicts: ReadonlyMap<string, readonly Verdict[]>): Learned =>
  (model, memory) =>
    (memory === 'gpu' ? footprints.of(model) : undefined) ?? awakeMib(verdicts.get(model) ?? [], memory);

const HOLDING: readonly Verdict['level'][] = DEPTH.filter(holdsHost);

/** What one engine was seen to hold in host memory at each level that it passed. */
export const holdsOf = (verdicts: readonly Verdict[]): HeldMib =>
  Object.fromEntries(
    verdicts.flatMap(({ level, held }) =>
      !HOLDING.includes(level) || held?.asleep.host === undefined ? [] : [[String(level), held.asleep.host] as const],
    ),
  );

/** What one engine of each model was seen to take of the GPU, from one start of catnap to the next. Other settings, and it is not known any more. */
export class Footprints {
  #config: Pick<Config, 'models'>;
  readonly #file: ReturnType<typeof footprintFile>;
  readonly #seen: Map<string, SavedFootprint>;
  #writing: Promise<void> = Promise.resolve();

  static async open(config: Config, warned: (message: string) => void): Promise<Footprints> {
    const file = footprintFile(config.state_dir, warned);
    return new Footprints(config, file, await file.read());
  }

  private constructor(
    config: Pick<Config, 'models'>,
    file: ReturnType<typeof footprintFile>,
    seen: Map<string, SavedFootprint>,
  ) {
    this.#config = config;
    this.#file = file;
    this.#seen = seen;
  }

  readonly of = (model: string): number | undefined => {
    const seen = this.#seen.get(model);
    return seen?.settings === this.#settingsOf(model) ? seen?.gpu_mib : undefined;
  };

  /** It counts from the next start on: who is awake beside whom does not change under way. */
  readonly saw = (model: string, mib: number): void => {
    const gpu_mib = Math.ceil(mib);
    if (gpu_mib < 1 || this.of(model) === gpu_mib) return;
    this.#seen.set(model, { gpu_mib, settings: this.#settingsOf(model) });
    this.#writing = this.#writing.then(() => this.#file.write(this.#seen));
  };

  /** Another config holds from now on. */
  follow(config: Pick<Config, 'models'>): void {
    this.#config = config;
  }

  /** Once all that was seen is written. */
  async close(): Promise<void> {
    await this.#writing;
  }

  #settingsOf(model: string): string {
    return createHash('sha256')
      .update(JSON.stringify(this.#config.models[model] ?? null))
      .digest('hex')
      .slice(0, 32);
  }
}
