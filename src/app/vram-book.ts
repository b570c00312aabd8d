import { artifactMib } from '../adapters/artifact-size.ts';
import type { Vram } from '../api/admin/rows.ts';
import type { Config } from '../config/schema.ts';

/** About how much GPU memory each model takes: what its files take on disk, for each replica. */
export class VramBook {
  readonly #files = new Map<string, number>();

  /** Looks at the files once; a model whose files are elsewhere stays unknown. */
  async measure({ models }: Config): Promise<void> {
    for (const [name, settings] of Object.entries(models)) {
      const path = 'model_path' in settings ? settings.model_path : undefined;
      const mib = path === undefined ? undefined : await artifactMib(path);
      if (mib !== undefined) this.#files.set(name, mib);
    }
  }

  of(model: string, replicas: number): Vram {
    const mib = this.#files.get(model);
    if (mib === undefined) return { mib: null, replicas, source: 'unavailable' };
    return { mib: Math.ceil(mib * replicas), replicas, source: 'model_artifact_size' };
  }
}
