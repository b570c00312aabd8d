import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Commons } from '../../src/core/commons.ts';
import { atRest, engineDueAt, handedEngine, newEngine, stepEngine } from '../../src/core/engine.ts';
import { POLICIES } from '../../src/core/policy/index.ts';
import { Stage } from '../../src/core/stage.ts';

/** The production code that a world runs: the real one, or a copy with one guard taken out. */
export type CoreUnderTest = {
  readonly Stage: typeof Stage;
  readonly Commons: typeof Commons;
  readonly stepEngine: typeof stepEngine;
  readonly engineDueAt: typeof engineDueAt;
  readonly atRest: typeof atRest;
  readonly newEngine: typeof newEngine;
  readonly handedEngine: typeof handedEngine;
  readonly POLICIES: typeof POLICIES;
};

export const realCore: CoreUnderTest = {
  Stage,
  Commons,
  stepEngine,
  engineDueAt,
  atRest,
  newEngine,
  handedEngine,
  POLICIES,
};

/** Loads a copy of `src/core` from another folder. */
export async function loadCore(folder: string): Promise<CoreUnderTest> {
  const load = (path: string): Promise<CoreUnderTest> => import(pathToFileURL(join(folder, path)).href);
  const [stage, commons, engine, policy] = await Promise.all([
    load('stage.ts'),
    load('commons.ts'),
    load('engine.ts'),
    load('policy/index.ts'),
  ]);
  return { ...engine, Stage: stage.Stage, Commons: commons.Commons, POLICIES: policy.POLICIES };
}
