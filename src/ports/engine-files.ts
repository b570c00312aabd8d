import type { EngineId } from '../core/kinds.ts';

/** Files that one start of an engine reads: settings, and keys that nobody else is to see. */
export interface EngineFiles {
  /**
   * A folder of this engine's own with these files in it and nothing else, closed to everybody else. What an earlier start
   * left in it is gone. Rejects with what to change.
   */
  put(engine: EngineId, files: Readonly<Record<string, string>>): Promise<string>;
}
