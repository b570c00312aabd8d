import type { EngineId, ModelId } from '../core/kinds.ts';
import type { Child } from './process.ts';

/** Writes engines to disk, processes and all, and brings them back as they were. */
export interface Checkpoints {
  /** Why this machine cannot do it, as something to change; undefined: it can. */
  hindrance(): Promise<string | undefined>;
  /**
   * Writes everything that stems from this child to disk and ends it. Once it resolves, nothing of it is alive.
   * When it rejects, the processes may be as they were or half-way gone; when the signal fired, they are to be killed.
   */
  save(child: Child, of: CheckpointOf, signal: AbortSignal): Promise<Checkpoint>;
}

export type CheckpointOf = { readonly engine: EngineId; readonly model: ModelId; readonly port: number };

/** One engine on disk. It can be restored once, by the catnap that saved it. */
export interface Checkpoint {
  readonly bytes: number;
  /** Begins to bring it back. Rejects when that cannot even begin: a process number or the port is taken, the image was changed. */
  restore(signal: AbortSignal): Promise<Returning>;
  /** Removes it from the disk. Never rejects: what stays behind is told, and gone with the next start. */
  drop(): Promise<void>;
}

export type Returning = {
  /** There from the first moment, so that whatever has come back so far can be ended. */
  readonly child: Child;
  /** Resolves when all of it is back and runs; rejects with why it is not. */
  readonly back: Promise<void>;
};

/** Why an engine is not on disk, or did not come back. */
export class CheckpointError extends Error {
  override readonly name = 'CheckpointError';
}
