import type { ScratchFile, ScratchFiles } from '../ports/scratch-files.ts';
import { Pieces } from './pieces.ts';

/** So much may wait to be written before the client is to pause. */
const ENOUGH = 131_072;

export type SpillEvents = {
  /** So many bytes are on disk and no longer in memory. */
  readonly written: (bytes: number) => void;
  /** More may come, after `full` was true. */
  readonly drained: () => void;
  /** The disk did not take it. Told once; nothing else is told then. */
  readonly failed: (error: unknown) => void;
};

/** A body on disk: written at its end while it comes in, and read from its beginning as often as it is needed. */
export class Spill {
  readonly #files: ScratchFiles;
  readonly #events: SpillEvents;
  #file: ScratchFile | undefined;
  #queue = new Pieces();
  #writing = 0;
  #busy = false;
  #held = false;
  #closed = false;
  #whenWritten: (() => void) | undefined;

  constructor(files: ScratchFiles, events: SpillEvents) {
    this.#files = files;
    this.#events = events;
  }

  add(chunk: Buffer): void {
    if (this.#closed) return;
    this.#queue.add(chunk);
    if (!this.#busy) void this.#write();
  }

  /** Whether to wait for `drained` before more is added. */
  get full(): boolean {
    this.#held = this.#queue.bytes + this.#writing > ENOUGH;
    return this.#held;
  }

  /** Runs it when all that was added is on disk, at once if it is. */
  onWritten(run: () => void): void {
    if (this.#busy) this.#whenWritten = run;
    else run();
  }

  async read(into: Buffer, at: number): Promise<number> {
    if (this.#closed || this.#file === undefined) throw new Error('the body was given up');
    return this.#file.read(into, at);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue = new Pieces();
    // Who writes closes it in the end.
    if (!this.#busy) void this.#file?.close();
  }

  async #write(): Promise<void> {
    this.#busy = true;
    let failure: { readonly error: unknown } | undefined;
    try {
      this.#file ??= await this.#files.create();
      while (this.#queue.bytes > 0) {
        this.#writing = this.#queue.bytes;
        await this.#file.append(this.#queue.take());
        this.#wrote(this.#writing);
      }
    } catch (error) {
      failure = { error };
    }
    this.#busy = false;
    if (this.#closed) void this.#file?.close();
    else if (failure !== undefined) this.#events.failed(failure.error);
    else this.#whenWritten?.();
  }

  #wrote(bytes: number): void {
    this.#writing = 0;
    if (this.#closed) return;
    this.#events.written(bytes);
    if (!this.#held || this.#queue.bytes > ENOUGH / 2) return;
    this.#held = false;
    this.#events.drained();
  }
}
