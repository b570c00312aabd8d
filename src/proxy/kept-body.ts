import { invariant } from '../core/kinds.ts';
import type { ScratchFiles } from '../ports/scratch-files.ts';
import type { BodyStore } from './body-store.ts';
import type { Refusal } from './envelope.ts';
import { Withheld, type Body, type Outflow } from './outflow.ts';
import { Pieces } from './pieces.ts';
import { Spill } from './spill.ts';

export type KeepingEvents = {
  /** More may be added, after `wait` was the answer. */
  readonly drained: () => void;
  /** It cannot be kept after all. */
  readonly failed: (refusal: Refusal) => void;
};

/** Where the last piece went. `wait`: hold the client back until `drained`. `full`: nowhere, both bounds are used up. */
type Added = 'more' | 'wait' | 'full';

/** As much is read from a file at a time. */
const BLOCK = 131_072;

/** One body in the store: as it comes in, and then as often as it is sent. In memory, or whole in a file. */
export class KeptBody implements Body {
  readonly once = false;
  bytes = 0;
  readonly #store: BodyStore;
  readonly #files: ScratchFiles;
  readonly #events: KeepingEvents;
  readonly #pieces = new Pieces();
  #spill: Spill | undefined;
  /** What it has of the store's bounds. */
  #memory = 0;
  #disk = 0;
  #readers = 0;
  #released = false;

  constructor(store: BodyStore, files: ScratchFiles, events: KeepingEvents) {
    this.#store = store;
    this.#files = files;
    this.#events = events;
  }

  get chunks(): readonly Buffer[] | undefined {
    return this.#spill === undefined ? this.#pieces.chunks : undefined;
  }

  add(chunk: Buffer): Added {
    invariant(!this.#released, 'a body goes on that was released');
    const more = chunk.length;
    if (this.#spill === undefined) {
      if (this.#store.takeMemory(this.#memory, more)) return this.#hold(chunk);
      if (!this.#takeDisk(this.bytes + more)) return this.#store.takeLastMemory(more) ? this.#hold(chunk) : 'full';
      this.#spill = this.#moveOut();
    } else if (!this.#takeDisk(more)) return 'full';
    this.bytes += more;
    this.#spill.add(chunk);
    return this.#spill.full ? 'wait' : 'more';
  }

  /** Runs it when all of it can be read, at once if it can. */
  onWhole(run: () => void): void {
    if (this.#spill === undefined) run();
    else this.#spill.onWritten(run);
  }

  open(): Outflow {
    invariant(!this.#released, 'a body is read that was released');
    this.#readers++;
    const closed = (): void => {
      this.#readers--;
      this.#giveBack();
    };
    const { chunks } = this;
    return this.#spill === undefined || chunks !== undefined
      ? new FromMemory(chunks ?? [], closed)
      : new FromFile(this.#spill, this.bytes, closed);
  }

  /** Nobody will open it any more. Who reads it still reads on. */
  release(): void {
    this.#released = true;
    this.#giveBack();
  }

  #hold(chunk: Buffer): Added {
    this.#memory += chunk.length;
    this.bytes += chunk.length;
    this.#pieces.add(chunk);
    return 'more';
  }

  /** All that has come moves to a file, and what comes follows it. */
  #moveOut(): Spill {
    const spill = new Spill(this.#files, {
      written: (bytes) => this.#left(bytes),
      drained: () => this.#events.drained(),
      failed: (error) => this.#events.failed(unwritten(error)),
    });
    for (const chunk of this.#pieces.take()) spill.add(chunk);
    return spill;
  }

  #takeDisk(bytes: number): boolean {
    if (!this.#store.takeDisk(bytes)) return false;
    this.#disk += bytes;
    return true;
  }

  /** What was counted as memory is written before anything that was not. */
  #left(bytes: number): void {
    const given = Math.min(bytes, this.#memory);
    this.#memory -= given;
    this.#store.giveMemory(given);
  }

  #giveBack(): void {
    if (!this.#released || this.#readers > 0) return;
    this.#left(this.#memory);
    this.#store.giveDisk(this.#disk);
    this.#disk = 0;
    this.#spill?.close();
    this.#pieces.take();
  }
}

class FromMemory implements Outflow {
  #chunks: readonly Buffer[] | undefined;
  #closed: (() => void) | undefined;

  constructor(chunks: readonly Buffer[], closed: () => void) {
    this.#chunks = chunks;
    this.#closed = closed;
  }

  next(): Promise<readonly Buffer[] | undefined> {
    const all = this.#chunks;
    this.#chunks = undefined;
    return Promise.resolve(all);
  }

  close(): void {
    this.#closed?.();
    this.#closed = undefined;
  }
}

class FromFile implements Outflow {
  readonly #spill: Spill;
  readonly #bytes: number;
  #closed: (() => void) | undefined;
  #block: Buffer | undefined;
  #at = 0;

  constructor(spill: Spill, bytes: number, closed: () => void) {
    this.#spill = spill;
    this.#bytes = bytes;
    this.#closed = closed;
  }

  async next(): Promise<readonly Buffer[] | undefined> {
    if (this.#at === this.#bytes) return undefined;
    this.#block ??= Buffer.allocUnsafeSlow(Math.min(BLOCK, this.#bytes));
    const wanted = this.#block.subarray(0, this.#bytes - this.#at);
    const got = await this.#spill.read(wanted, this.#at).catch((error: unknown) => {
      throw new Withheld(unread(error), error);
    });
    if (got < wanted.length) throw new Withheld(unread(new Error('the file is too short')));
    this.#at += got;
    return [wanted];
  }

  close(): void {
    this.#closed?.();
    this.#closed = undefined;
  }
}

/** When to come back, where nothing better is known. */
const LATER_MS = 5_000;

/** Told when neither memory nor disk may take more. */
export const NO_ROOM: Refusal = {
  code: 'body_not_kept',
  message:
    'Too many request bodies wait for their turn. Try again in a moment, ' +
    'or raise `body_memory_total_bytes` or `body_disk_bytes`.',
  retryAfterMs: LATER_MS,
};

const unwritten = (error: unknown): Refusal => diskFailed('written to', error);
const unread = (error: unknown): Refusal => diskFailed('read from', error);

/** Without the path, which is nothing for clients. */
function diskFailed(did: string, error: unknown): Refusal {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  const message = `The body of the request could not be ${did} disk while it waited${code}. Try again in a moment.`;
  return { code: 'body_not_kept', message, retryAfterMs: LATER_MS };
}
