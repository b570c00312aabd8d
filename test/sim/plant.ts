import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadCore, type CoreUnderTest } from './core-under-test.ts';
import type { Kind } from './trial.ts';
import type { Mutant } from './mutants/mutant.ts';

const CORE = fileURLToPath(new URL('../../src/core', import.meta.url));

/** The worlds in which a mutant shows. */
export const kindOf = (
  { policy, urgency, deadlines, losses, extras, reloads, freezes, overlap, handovers }: Mutant,
  core: CoreUnderTest,
): Kind => ({
  core,
  ...(policy === undefined ? {} : { policy }),
  ...(urgency === undefined ? {} : { urgency }),
  ...(deadlines === undefined ? {} : { deadlines }),
  ...(losses === undefined ? {} : { losses }),
  ...(extras === undefined ? {} : { extras }),
  ...(reloads === undefined ? {} : { reloads }),
  ...(freezes === undefined ? {} : { freezes }),
  ...(overlap === undefined ? {} : { overlap }),
  ...(handovers === undefined ? {} : { handovers }),
});

/** Makes a copy of the core without the mutant's guard, and gives it to `use`. */
export async function withMutant<T>(
  { name, file, find, replace }: Mutant,
  use: (core: CoreUnderTest) => T,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'catnap-mutant-'));
  try {
    await cp(CORE, folder, { recursive: true });
    const path = join(folder, file);
    const [before, after, ...more] = (await readFile(path, 'utf8')).split(find);
    if (before === undefined || after === undefined || more.length > 0)
      throw new Error(
        `"${name}": what it looks for is not exactly once in src/core/${file}; bring test/sim/mutants up to date`,
      );
    await writeFile(path, before + replace + after);
    return use(await loadCore(folder));
  } finally {
    await rm(folder, { recursive: true });
  }
}
