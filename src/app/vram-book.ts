import { artifactMib } from '../adapters/artifact-size.ts';
import type { Vram } from '../api/admin/rows.ts';
import type { Config } from '../config/schema.ts';
import type { Fact } from '../core/facts.ts';
import type { ModelId } from '../core/kinds.ts';
import type { Gpu, GpuReading } from '../ports/gpu.ts';
import type { Reporter } from '../ports/reporter.ts';
import type { ModelView, StageView } from '../runtime/view.ts';
import type { KinOf } from './kin-from.ts';

type Means = {
  readonly gpu: Gpu;
  readonly view: () => StageView;
  readonly kinOf: KinOf;
  readonly bug: (error: unknown) => void;
  /** What one engine takes, by the account of its own processes, as the config has it started. */
  readonly saw?: (model: ModelId, mib: number) => void;
};

/** A load that is under way: what the GPUs held when it began, and whether nothing else has moved since. */
type Load = { readonly before: Promise<GpuReading | undefined>; alone: boolean };

/**
 * About how much GPU memory each model takes. Before its first load: what its files take on disk, for each replica. After: what was seen of it,
 * by its own processes where the driver names them, else by how much more the devices held, if nobody else moved meanwhile.
 */
export class VramBook implements Reporter {
  readonly #files = new Map<string, number>();
  readonly #seen = new Map<string, Map<number, number>>();
  readonly #loads = new Map<string, Load>();
  /** With what each was last seen: another load of the same kind tells nothing new. */
  readonly #kinds = new Map<string, string>();
  readonly #means: Means;

  constructor(means: Means) {
    this.#means = means;
  }

  /** Looks at the files once; a model whose files are elsewhere stays unknown. */
  async measure({ models }: Pick<Config, 'models'>): Promise<void> {
    for (const [name, settings] of Object.entries(models)) {
      const path = 'model_path' in settings ? settings.model_path : undefined;
      const mib = path === undefined ? undefined : await artifactMib(path);
      if (mib !== undefined) this.#files.set(name, mib);
    }
  }

  of(model: string, replicas: number): Vram {
    const seen = this.#seen.get(model);
    const counts = [...(seen?.keys() ?? [])];
    // What was seen with another count says more than what files take.
    const count = seen?.has(replicas) === true ? replicas : nearestTo(replicas, counts);
    const observed = count === undefined ? undefined : seen?.get(count);
    if (observed !== undefined && count !== undefined) {
      return { mib: observed, replicas: count, source: 'observed_load_delta' };
    }
    const mib = this.#files.get(model);
    if (mib === undefined) return { mib: null, replicas, source: 'unavailable' };
    return { mib: Math.ceil(mib * replicas), replicas, source: 'model_artifact_size' };
  }

  report(fact: Fact): void {
    if (fact.kind !== 'engine-moved') return;
    const { model, from, to } = fact;
    for (const [other, load] of this.#loads) if (other !== model) load.alone = false;
    if (to === 'starting' && !this.#loads.has(model)) {
      const { models } = this.#means.view();
      const own = models.find((seen) => seen.model === model);
      if (own === undefined || this.#kinds.get(model) === kindOf(own)) return;
      const alone = models.every((seen) => seen === own || !isMoving(seen));
      this.#loads.set(model, { before: this.#read(), alone });
    } else if (from === 'starting' && to === 'awake') {
      // The stage is told of the move after everybody else.
      queueMicrotask(() => this.#loaded(model));
    } else if (to === 'stopping' || to === 'reaping' || to === 'off') this.#loads.delete(model);
  }

  #loaded(model: ModelId): void {
    const load = this.#loads.get(model);
    const view = this.#means.view().models.find((seen) => seen.model === model);
    if (load === undefined || view === undefined) return;
    const awake = view.engines.filter(({ phase }) => phase.kind === 'awake');
    if (awake.length < view.replicas) return;
    this.#loads.delete(model);
    const leaders = awake.flatMap(({ pid }) => pid ?? []);
    this.#weigh(view, leaders, load).catch(this.#means.bug);
  }

  async #weigh(view: ModelView, leaders: readonly number[], load: Load): Promise<void> {
    const { model, replicas } = view;
    const [before, after, kin] = await Promise.all([load.before, this.#read(), this.#means.kinOf(leaders)]);
    if (after === undefined) return;
    const own = new Set(leaders.flatMap((leader) => kin.get(leader) ?? [leader]));
    const ownKnown = ownMib(after, own);
    if (ownKnown !== undefined && Object.keys(view.override).length === 0)
      this.#means.saw?.(model, ownKnown / replicas);
    const mib = ownKnown ?? (before && load.alone ? usedMib(after) - usedMib(before) : 0);
    if (mib <= 0) return;
    this.#kinds.set(model, kindOf(view));
    const seen = this.#seen.get(model) ?? new Map<number, number>();
    this.#seen.set(model, seen.set(replicas, mib));
  }

  async #read(): Promise<GpuReading | undefined> {
    const sight = await this.#means.gpu.read(0);
    return sight.kind === 'read' ? sight.reading : undefined;
  }
}

/** What processes hold; undefined where the driver does not tell of them. */
function ownMib({ processes }: GpuReading, pids: ReadonlySet<number>): number | undefined {
  const known = processes.flatMap(({ pid, usedMib: mib }) => (pids.has(pid) && mib !== undefined ? [mib] : []));
  return known.length === 0 ? undefined : sum(known);
}

const usedMib = ({ devices }: GpuReading): number => sum(devices.map((device) => device.usedMib));

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const nearestTo = (wanted: number, counts: readonly number[]): number | undefined =>
  counts.toSorted((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted))[0];

const kindOf = ({ replicas, override }: ModelView): string => JSON.stringify([replicas, override]);

/** Whether its memory is on its way, in or out. */
const isMoving = ({ engines }: ModelView): boolean =>
  engines.some(({ phase }) => !['off', 'awake', 'asleep', 'failed'].includes(phase.kind));
