import { closeSync, fchmodSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import type { HandedLog } from '../ports/handover.ts';
import { LineSplitter, plainLines } from './log-text.ts';
import { isMissing } from './system-error.ts';

type LogOptions = {
  readonly path: string;
  /** The file is put aside as `.1` once it is larger: in a quiet moment, or at twice as much at once. */
  readonly maxBytes: number;
  /** How many files put aside are kept. */
  readonly keep: number;
  /** How many of the last lines can be asked for, also once the log is closed. */
  readonly tailLines: number;
  /** Told every line, soon after it was printed. */
  readonly onLine: ((line: string) => void) | undefined;
  readonly onProblem: (message: string) => void;
  /** How far another catnap has read it, of an engine that runs already. */
  readonly handed?: HandedLog;
};

const LINE_FEED = 10;
const LOOK_EVERY_MS = 100;
/** The last lines are looked for in this much of the file: a generous length for each, within limits. */
const TAIL_BYTES = { line: 256, least: 64 * 1024, most: 16 * 1024 * 1024 };
/** How much a follower is shown per look; a flood beyond it is skipped and said to be. */
const FOLLOW_BYTES = 256 * 1024;
const SLICE_BYTES = 1024 * 1024;
/** How often a copy goes after what was printed meanwhile. */
const CATCH_UP_ROUNDS = 8;

/** The copy of a log that is about to be cut: how far in the log it has come, and how long it is. */
type Aside = { readonly file: number; copied: number; length: number };

/**
 * What one start of an engine prints. The engine writes to the file by itself, in append mode: its output costs us
 * nothing, survives us, and holds no pipe that a checkpoint could not restore. We only look at the file's size, read its
 * end when asked, and copy and cut it when it is too large.
 */
export class EngineLog {
  /** For the engine's stdout and stderr. Open for writing alone and at the end: of such a file criu does not care how long it is. */
  readonly file: number;
  readonly #own: number;
  readonly #options: LogOptions;
  readonly #lines = new LineSplitter();
  readonly #timer: NodeJS.Timeout;
  /** Where in the file this start begins, where it ended when we last looked, and how much of it went with earlier cuts. */
  #begin: number;
  #end: number;
  #rotated = 0;
  #followed: number;
  /** Behind the last line that is whole. */
  #lineEnd: number;
  #lastSize = 0;
  #looking: Promise<void> | undefined;
  #held = false;
  #complained = false;
  #closed: { readonly printed: number; readonly tail: readonly string[] } | undefined;

  constructor(options: LogOptions) {
    this.#options = options;
    this.file = openSync(options.path, 'a', 0o600);
    fchmodSync(this.file, 0o600);
    this.#own = openSync(options.path, 'r+');
    this.#end = fstatSync(this.file).size;
    const { begin = this.#end, rotated = 0, followed = this.#end } = options.handed ?? {};
    [this.#begin, this.#followed] = [Math.min(begin, this.#end), Math.min(followed, this.#end)];
    this.#lineEnd = this.#followed;
    this.#rotated = rotated;
    this.#timer = setInterval(() => this.#lookOnce(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** Never shrinks. What was printed in the very moment of a cut is not in it. */
  get printed(): number {
    if (this.#closed !== undefined) return this.#closed.printed;
    const size = this.#size();
    return this.#rotated + size - this.#begin;
  }

  tail(lines: number): readonly string[] {
    const count = Math.min(lines, this.#options.tailLines);
    return count <= 0 ? [] : (this.#closed?.tail ?? this.#readTail(count)).slice(-count);
  }

  /** Does not cut the file until it is released. Nobody writes to it meanwhile. */
  async hold(): Promise<void> {
    this.#held = true;
    await this.#looking;
  }

  release(): void {
    this.#held = false;
  }

  /** Keeps the last lines and lets go of the file. */
  async close(): Promise<void> {
    if (this.#closed !== undefined) return;
    clearInterval(this.#timer);
    await this.#looking;
    if (this.#closed !== undefined) return;
    this.#follow();
    for (const line of this.#lines.flush()) this.#options.onLine?.(line);
    this.#closed = { printed: this.printed, tail: this.tail(this.#options.tailLines) };
    closeSync(this.file);
    closeSync(this.#own);
  }

  /** Lets another go on from here. Nobody is told a line by both. */
  async leave(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    this.#closed ??= { printed: this.printed, tail: this.tail(this.#options.tailLines) };
    closeSync(this.file);
    closeSync(this.#own);
  }

  /** How far it has come. */
  get handed(): HandedLog {
    this.#follow();
    return { begin: this.#begin, rotated: this.#rotated, followed: this.#lineEnd };
  }

  #size(): number {
    const size = fstatSync(this.file).size;
    if (size < this.#end) this.#noteCut(); // by somebody who cleared it
    this.#end = size;
    return size;
  }

  #noteCut(): void {
    this.#rotated += this.#end - this.#begin;
    this.#begin = this.#end = this.#followed = this.#lineEnd = 0;
  }

  #lookOnce(): void {
    if (this.#looking !== undefined) return;
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
    });
  }

  async #look(): Promise<void> {
    try {
      this.#follow();
      const { maxBytes } = this.#options;
      const size = this.#size();
      const quiet = size === this.#lastSize;
      this.#lastSize = size;
      if (!this.#held && (size > 2 * maxBytes || (size > maxBytes && quiet))) await this.#rotate();
    } catch (error) {
      this.#complain(error);
    }
  }

  #complain(error: unknown): void {
    if (this.#complained) return;
    this.#complained = true;
    this.#options.onProblem(`the log ${this.#options.path} is not kept as it should be: ${String(error)}`);
  }

  #follow(): void {
    const { onLine } = this.#options;
    if (onLine === undefined) return;
    const size = this.#size();
    const behind = size - this.#followed;
    if (behind > FOLLOW_BYTES) {
      onLine(`… ${behind - FOLLOW_BYTES} bytes are only in ${this.#options.path}`);
      this.#followed = this.#lineEnd = size - FOLLOW_BYTES;
    }
    while (this.#followed < size) {
      const bytes = this.#read(this.#followed, size - this.#followed);
      if (bytes.length === 0) break;
      const last = bytes.lastIndexOf(LINE_FEED);
      if (last >= 0) this.#lineEnd = this.#followed + last + 1;
      this.#followed += bytes.length;
      for (const line of this.#lines.push(bytes)) onLine(line);
    }
  }

  /**
   * Copies the end of the file and cuts it. The engine never notices: in append mode its next line goes to the new end.
   * What it prints between the last look and the cut is lost, so nothing waits between the two.
   */
  async #rotate(): Promise<void> {
    const aside = this.#options.keep > 0 ? await this.#putAside() : undefined;
    let size: number;
    let rounds = 0;
    do {
      size = this.#size();
      this.#follow();
      // Of a flood that is ahead of the copy the end is kept.
      if (aside !== undefined) this.#copy(aside, Math.max(aside.copied, size - this.#slice), size);
      rounds += 1;
    } while (this.#size() !== size && rounds < CATCH_UP_ROUNDS);
    ftruncateSync(this.#own, 0);
    this.#noteCut();
    if (aside !== undefined) closeSync(aside.file);
  }

  /** Undefined when there can be no copy: the bound holds all the same. */
  async #putAside(): Promise<Aside | undefined> {
    const { path, maxBytes, keep } = this.#options;
    try {
      for (let number = keep - 1; number >= 1; number -= 1) {
        await renameIfThere(`${path}.${number}`, `${path}.${number + 1}`);
      }
      const size = this.#size();
      const aside: Aside = { file: openSync(`${path}.1`, 'w', 0o600), copied: Math.max(0, size - maxBytes), length: 0 };
      while (this.#copy(aside, aside.copied, size)) await turn();
      return aside;
    } catch (error) {
      this.#complain(error);
      return undefined;
    }
  }

  get #slice(): number {
    return Math.min(SLICE_BYTES, this.#options.maxBytes);
  }

  /** Copies a slice of what lies between; whether there was one. On a full disk there is nothing to copy to. */
  #copy(aside: Aside, from: number, to: number): boolean {
    try {
      const bytes = this.#read(from, Math.min(this.#slice, to - from));
      // A flood that is copied for as long as it lasts would make the copy larger than what it is a copy of may be.
      if (aside.length + bytes.length > 2 * this.#options.maxBytes) {
        ftruncateSync(aside.file, 0);
        aside.length = 0;
      }
      writeSync(aside.file, bytes, 0, bytes.length, aside.length);
      aside.length += bytes.length;
      aside.copied = from + bytes.length;
      return bytes.length > 0;
    } catch (error) {
      this.#complain(error);
      return false;
    }
  }

  #readTail(lines: number): readonly string[] {
    const window = Math.min(TAIL_BYTES.most, Math.max(TAIL_BYTES.least, lines * TAIL_BYTES.line));
    const size = this.#size();
    const from = Math.max(this.#begin, size - window);
    const current = this.#read(from, size - from);
    const missing = this.#options.keep > 0 ? Math.min(this.#rotated, window - current.length) : 0;
    const bytes = missing > 0 ? Buffer.concat([lastBytes(`${this.#options.path}.1`, missing), current]) : current;
    const text = bytes.toString('utf8');
    // A window that begins in the middle begins in the middle of a line, most likely.
    return plainLines(bytes.length >= window ? text.slice(text.indexOf('\n') + 1) : text);
  }

  #read(position: number, length: number): Buffer {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(this.#own, buffer, 0, length, position));
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  await rename(from, to).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}

function lastBytes(path: string, length: number): Buffer {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const size = fstatSync(file).size;
    const buffer = Buffer.alloc(Math.min(length, size));
    return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, size - buffer.length));
  } catch {
    return Buffer.alloc(0); // somebody cleared the logs
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
