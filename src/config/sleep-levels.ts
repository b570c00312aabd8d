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
  vllm_serve: { works: [5], accepted: [1, 2, 3, 4, 'hybrid'] },
  llama_server: { works: [5], accepted: [3, 4] },
  command: { works: [5], accepted: [3, 4] },
  openai_remote: { works: [5], accepted: [] },
  stub: { works: [1, 2, 5], accepted: [] },
};

/** What is used when `wanted` is asked for. */
export const levelInUse = (backend: Backend, wanted: SleepLevel): SleepLevel =>
  LEVELS[backend].works.includes(wanted) ? wanted : 5;
