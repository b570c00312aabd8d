import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isLeg, type SavedCosts } from '../core/costs.ts';
import { modelId } from '../core/kinds.ts';
import type { CostFile, CostsByModel } from '../ports/cost-file.ts';
import { isMissing } from './system-error.ts';

/** No time of a swap is longer than a day. */
const Milliseconds = z.number().min(0).max(86_400_000);
const Estimate = z.object({ ms: Milliseconds, spreadMs: Milliseconds, samples: z.int().min(1) });
const Written = z.object({
  version: z.literal(1),
  models: z.record(z.string(), z.record(z.string().refine(isLeg), Estimate)),
  /** What their sleepers held in host memory, in MiB, by level. */
  holds: z.record(z.string(), z.record(z.string(), z.number().min(0))).optional(),
});

/** What a thousand models write is far below that. */
const MOST_BYTES = 16 * 1_048_576;

/** The costs of swaps in one small file, which is whole or not there, whenever we are killed. */
export function costFile(stateDir: string, onProblem: (message: string) => void): CostFile {
  const path = join(stateDir, 'costs.json');
  return {
    read: async () => {
      try {
        if ((await stat(path)).size > MOST_BYTES) throw new Error('it is too large');
        const { models, holds = {} } = Written.parse(JSON.parse(await readFile(path, 'utf8')));
        return new Map(
          Object.entries(models).map(([model, legs]) => {
            const held = holds[model];
            return [modelId(model), (held === undefined ? legs : { ...legs, holds: held }) satisfies SavedCosts];
          }),
        );
      } catch (error) {
        if (isMissing(error)) return new Map();
        const why = error instanceof z.ZodError ? z.prettifyError(error).replaceAll('\n', ' ') : String(error);
        onProblem(`what swaps cost so far cannot be read from ${path}, and is learned anew: ${why}`);
        return new Map();
      }
    },
    write: async (costs) => {
      const part = `${path}.${randomBytes(4).toString('hex')}.part`;
      try {
        await writeFile(part, textOf(costs), { mode: 0o600 });
        await rename(part, path);
      } catch (error) {
        await rm(part, { force: true }).catch(() => {});
        onProblem(`what swaps cost cannot be written to ${path}: ${String(error)}`);
      }
    },
  };
}

function textOf(costs: CostsByModel): string {
  const written = [...costs].map(([model, { holds, ...legs }]) => ({ model, legs, holds }));
  const models = Object.fromEntries(written.map(({ model, legs }) => [model, legs]));
  const held = written.flatMap(({ model, holds }) => (holds === undefined ? [] : [[model, holds] as const]));
  return `${JSON.stringify({ version: 1, models, holds: Object.fromEntries(held) }, undefined, 1)}\n`;
}
