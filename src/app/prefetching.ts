import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { engineFileName } from '../adapters/engine-file-name.ts';
import { pageCache } from '../adapters/page-cache.ts';
import { sized, weightFiles } from '../adapters/weight-files.ts';
import type { Config } from '../config/schema.ts';
import { engineId, type ModelId } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';
import type { Gate } from '../proxy/gate.ts';
import { Prefetcher, type Wanted } from '../runtime/prefetcher.ts';
import type { StageView } from '../runtime/view.ts';
import { ms } from './times.ts';

const MIB = 1_048_576;
/** As long as the name of a model may be. */
const NAME_SHOWN = 200;

type Means = {
  /** As it is now. */
  readonly config: () => Config;
  readonly clock: Clock;
  readonly reporter: Reporter;
  readonly view: () => StageView;
};

/** Reads nothing where the config has it switched off. */
export function prefetcherOf({ config, clock, reporter, view }: Means): Prefetcher {
  const { prefetch } = config();
  return new Prefetcher({
    clock,
    pages: pageCache({ clock }),
    reporter,
    bounds: {
      mostBytes: prefetch.max_mib * MIB,
      bytesPerSec: prefetch.mib_per_sec * MIB,
      keepFreeBytes: prefetch.keep_free_mib * MIB,
    },
    guessAfterMs: prefetch.enabled && prefetch.guess_next ? ms(prefetch.guess_after_secs) : undefined,
    filesOf: (model, wanted) => (prefetch.enabled ? filesOf(config(), model, wanted) : Promise.resolve([])),
    view,
  });
}

/** Hears what requests say of the next one. */
export const announcerOf =
  (prefetcher: Prefetcher, find: Gate['find'], reporter: Reporter): Gate['announce'] =>
  (name, mayUse) => {
    const model = find(name, mayUse)?.model;
    if (model !== undefined) prefetcher.announce(model);
    else reporter.report({ kind: 'next-ignored', name: name.slice(0, NAME_SHOWN), reason: 'unknown' });
  };

async function filesOf(config: Config, model: ModelId, wanted: Wanted): Promise<readonly string[]> {
  const settings = config.models[model];
  if (settings === undefined) return [];
  if (wanted === 'image') return imageFiles(config.checkpoint.images_dir, model);
  const path = 'model_path' in settings ? settings.model_path : undefined;
  return path === undefined ? [] : (await weightFiles(path)).map((file) => file.path);
}

/** Of its first engine: what a second one is restored from is read while the first one is. */
async function imageFiles(folder: string, model: ModelId): Promise<readonly string[]> {
  const begin = `${engineFileName(engineId(model, 0))}.`;
  const folders = (await readdir(folder)).filter((name) => name.startsWith(begin));
  const files = await Promise.all(folders.map((name) => sized(join(folder, name), (file) => file.endsWith('.img'))));
  return files.flat().map((file) => file.path);
}
