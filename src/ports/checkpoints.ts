import type { EngineId, ModelId } from '../core/kinds.ts';
import type { HandedImage } from './handover.ts';
import type { Child, SpawnSpec } from './process.ts';

/** Writes engines to disk, processes and all, and brings them back as they were. */
export interface Checkpoints {
  /** Why this machine cannot do it, as something to change; undefined: it can. */
  hindrance(): Promise<string | undefined>;
  /**
   * Writes everything that stems from this child to disk and ends it. Once it resolves, nothing of it is alive.
   * When it rejects, the processes may be as they were or half-way gone; when the signal fired, they are to be killed.
   */
  save(child: Child, of: CheckpointOf, signal: AbortSignal): Promise<Checkpoint>;
  /** What another catnap has written of this child, and handed over with it, is ours from now on. Resolves to the way back. */
  adopt(child: Child, of: Pick<CheckpointOf, 'engine' | 'port'>, image: HandedImage): Promise<Checkpoint>;
  /** The image of this engine that outlived the catnap that wrote it; undefined: there is none. */
  kept(engine: EngineId): Promise<KeptImage | undefined>;
}

export type CheckpointOf = {
  readonly engine: EngineId;
  readonly model: ModelId;
  readonly port: number;
  /** On how many GPUs processes of it work together. Several talk to each other over connections that have to be kept. */
  readonly ranks?: number;
  /** What of it is still on GPUs, and goes to disk with it. */
  readonly gpuMib?: number;
  /** Whether others wait for answers on connections to it, which have to be there when it is back. */
  readonly open?: boolean;
};

/** One engine on disk. */
export interface Checkpoint {
  readonly bytes: number;
  /** For `adopt` elsewhere. It is not looked after here any more. */
  release(): HandedImage;
  /** Begins to bring it back. Rejects when that cannot even begin: a process number or the port is taken, the image was changed. */
  restore(signal: AbortSignal): Promise<Returning>;
  /** Tells when it has made room for another image, and can be brought back no more. */
  whenGone(tell: () => void): void;
  /** Lets it outlive this catnap, for a later one that starts the same. Never rejects: what cannot be kept is told. */
  keep(passport: Passport): Promise<void>;
  /** It is not needed any more, and so removed, but for what was kept on purpose. Never rejects: what stays behind is told, and gone with the next start. */
  drop(): Promise<void>;
}

/** With what an engine was started. */
export type Launched = Pick<SpawnSpec, 'argv' | 'env' | 'cwd'>;

/** What a later catnap has to know of an image. */
export type Passport = {
  readonly launched: Launched;
  readonly before: ImageNote;
  /** Whether it was made to be kept: then it is there for every start, and not only for the next. */
  readonly prepared: boolean;
};

/** What was done to an engine before it went to disk, and has to be undone when it is back. */
export type ImageNote = {
  readonly slept: boolean;
  /** What it answered to the sample question when it was well. */
  readonly sample: string | null;
  /** Who was on the GPU, and how many MiB of each device they need; null: nobody. */
  readonly gpu: { readonly pids: readonly number[]; readonly needs: Readonly<Record<string, number>> } | null;
};

/** An image that outlived its catnap. */
export interface KeptImage {
  readonly port: number;
  readonly savedAt: string;
  readonly prepared: boolean;
  readonly before: ImageNote;
  /** Why it would not be what is started so now; undefined: it is. */
  change(launched: Launched): Promise<string | undefined>;
  /** The way back. One that was not prepared is nobody's any more once this was asked for. */
  readonly checkpoint: Checkpoint;
  /** Removes it, prepared or not. */
  remove(): Promise<void>;
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
