import { DEPTH } from '../core/depth.ts';
import type { EngineRules } from '../core/engine.ts';
import type { SleepLevel } from '../core/kinds.ts';
import type { Backend } from './schema.ts';

type Levels = {
  /** Those this version carries out. */
  readonly works: readonly SleepLevel[];
  /** Those the engine can take that this version does not carry out; 5 is used in their place. */
  readonly accepted: readonly SleepLevel[];
};

/** Which sleep levels make sense for which backend. 5, no process at all, is possible for each. */
export const LEVELS: Readonly<Record<Backend, Levels>> = {
  vllm_serve: { works: [1, 2, 3, 'hybrid', 4, 5], accepted: [] },
  llama_server: { works: [3, 4, 5], accepted: [] },
  llama_cpp: { works: [3, 4, 5], accepted: [] },
  sglang: { works: [1, 2, 3, 5], accepted: [4] },
  exllamav3: { works: [2, 3, 5], accepted: [4] },
  ct2: { works: [3, 4, 5], accepted: [] },
  command: { works: [3, 4, 5], accepted: [] },
  openai_remote: { works: [5], accepted: [] },
  stub: { works: [1, 2, 5], accepted: [] },
};

/** Which sleepers can go deeper without waking, and where to. All can be ended. */
export const DEEPENS: Readonly<Partial<Record<Backend, NonNullable<EngineRules['deepens']>>>> = {
  stub: { 1: [2] },
};

export { DEPTH };

/** What an engine may be put to. Its end is always among them: it is where everything that fails ends. */
export const levelsInUse = (backend: Backend, allowed: readonly SleepLevel[] | undefined): readonly SleepLevel[] =>
  DEPTH.filter((level) => level === 5 || (LEVELS[backend].works.includes(level) && allowed?.includes(level) !== false));

/** What is used when `wanted` is asked for. */
export const levelInUse = (wanted: SleepLevel, allowed: readonly SleepLevel[]): SleepLevel =>
  allowed.includes(wanted) ? wanted : 5;
