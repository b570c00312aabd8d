import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isMissing } from './system-error.ts';

const Footprint = z.object({ gpu_mib: z.int().min(1).max(100_000_000), settings: z.string().max(100) });
const Written = z.object({ version: z.literal(1), models: z.record(z.string(), Footprint) });

/** What one engine of a model was seen to take, and a mark of the settings it had then. */
export type SavedFootprint = z.infer<typeof Footprint>;

/** What a thousand models write is far below that. */
const MOST_BYTES = 4 * 1_048_576;

/** What models were seen to take, in one small file, which is whole or not there, whenever we are killed. */
export function footprintFile(stateDir: string, onProblem: (message: string) => void) {
  const path = join(stateDir, 'footprints.json');
  return {
    read: async (): Promise<Map<string, SavedFootprint>> => {
      try {
        if ((await stat(path)).size > MOST_BYTES) throw new Error('it is too large');
        return new Map(Object.entries(Written.parse(JSON.parse(await readFile(path, 'utf8'))).models));
      } catch (error) {
        if (isMissing(error)) return new Map();
        const why = error instanceof z.ZodError ? z.prettifyError(error).replaceAll('\n', ' ') : String(error);
        onProblem(`what models take cannot be read from ${path}, and is seen anew: ${why}`);
        return new Map();
      }
    },
    write: async (models: ReadonlyMap<string, SavedFootprint>): Promise<void> => {
      const part = `${path}.${randomBytes(4).toString('hex')}.part`;
      try {
        await writeFile(part, `${JSON.stringify({ version: 1, models: Object.fromEntries(models) }, undefined, 1)}\n`, {
          mode: 0o600,
        });
        await rename(part, path);
      } catch (error) {
        await rm(part, { force: true }).catch(() => {});
        onProblem(`what models take cannot be written to ${path}: ${String(error)}`);
      }
    },
  };
}
