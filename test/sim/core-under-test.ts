import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { atRest, engineDueAt, newEngine, stepEngine } from '../../src/core/engine.ts';
import { POLICIES } from '../../src/core/policy/index.ts';
import { Stage } from '../../src/core/stage.ts';

/** The production code that a world runs: the real one, or a copy with one guard taken out. */
export type CoreUnderTest = {
  readonly Stage: typeof Stage;
  readonly stepEngine: typeof stepEngine;
  readonly engineDueAt: typeof engineDueAt;
  readonly atRest: typeof atRest;
  readonly newEngine: typeof newEngine;
  readonly POLICIES: typeof POLICIES;
};

export const realCore: CoreUnderTest = { Stage, stepEngine, engineDueAt, atRest, newEngine, POLICIES };

/** Loads a copy of `src/core` from another folder. */
export async function loadCore(folder: string): Promise<CoreUnderTest> {
  const load = (path: string): Promise<CoreUnderTest> => import(pathToFileURL(join(folder, path)).href);
  const [stage, engine, policy] = await Promise.all([load('stage.ts'), load('engine.ts'), load('policy/index.ts')]);
  return { ...engine, Stage: stage.Stage, POLICIES: policy.POLICIES };
}
