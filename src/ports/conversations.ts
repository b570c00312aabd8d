import type { EngineId } from '../core/kinds.ts';

/** What a cache of prompts is like: of which model, and as what its two halves are held. */
export type CacheOf = { readonly modelFile: string; readonly typeK: string; readonly typeV: string };

/** What engines have read of conversations, kept on disk from the end of one process to the start of the next. */
export interface Conversations {
  /** Why an engine that is given back what it had read of this model would make nothing of it; undefined: it works, as far as the file tells. */
  unfit(modelFile: string): Promise<string | undefined>;
  /** The private folder that this engine's server writes to; made if need be. Rejects with what to change. */
  folder(engine: EngineId): Promise<string>;
  /** A name for all that what was read depends on: these words, and those of them that are files, as they are now. */
  keyOf(words: readonly string[]): Promise<string>;
  /** What one token takes on disk, as far as the file of the model tells. */
  bytesPerToken(of: CacheOf): Promise<number | undefined>;
  /**
   * Makes room for what this engine's server is about to write, and keeps it until it is kept or dropped. `total` counts with what it has
   * written already, `toCome` without. Gives why there is none; then nobody else has lost anything for it.
   */
  room(engine: EngineId, size: { readonly total: number; readonly toCome: number }): Promise<string | undefined>;
  /** Keeps these files of the folder under the key and removes all others from it. Gives why they could not be kept, if so. */
  keep(engine: EngineId, key: string, files: readonly string[]): Promise<string | undefined>;
  /** The files that were kept under this key and are whole. All others are removed. */
  kept(engine: EngineId, key: string): Promise<readonly string[]>;
  /** Removes whatever was kept of this engine. */
  drop(engine: EngineId): Promise<void>;
}
