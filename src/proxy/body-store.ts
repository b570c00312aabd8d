import type { ScratchFiles } from '../ports/scratch-files.ts';
import { KeptBody, type KeepingEvents } from './kept-body.ts';

export type StoreLimits = {
  /** What one body may hold in memory. */
  readonly eachBytes: number;
  /** What all of them may hold in memory, and on disk. */
  readonly memoryBytes: number;
  readonly diskBytes: number;
};

/** A body may hold this part of the memory that is free: a few large ones leave room for many small ones. */
const SHARE = 1 / 8;

/** Keeps the bodies of requests that wait, in memory and then on disk, all of them within bounds. */
export class BodyStore {
  readonly #files: ScratchFiles;
  readonly #limits: StoreLimits;
  #memory = 0;
  #disk = 0;

  constructor(files: ScratchFiles, limits: StoreLimits) {
    this.#files = files;
    this.#limits = limits;
  }

  /** Bytes held now. */
  get memoryBytes(): number {
    return this.#memory;
  }

  get diskBytes(): number {
    return this.#disk;
  }

  /** A place for one body. It must be released. */
  keep(events: KeepingEvents): KeptBody {
    return new KeptBody(this, this.#files, events);
  }

  /** Whether a body that holds `held` bytes may hold more in memory, as long as others need not go to disk for it. */
  takeMemory(held: number, more: number): boolean {
    const { eachBytes, memoryBytes } = this.#limits;
    const free = memoryBytes - this.#memory + held;
    if (held + more > Math.min(eachBytes, free * SHARE)) return false;
    this.#memory += more;
    return true;
  }

  /** The same, whatever a body's share is. */
  takeLastMemory(more: number): boolean {
    if (this.#memory + more > this.#limits.memoryBytes) return false;
    this.#memory += more;
    return true;
  }

  giveMemory(bytes: number): void {
    this.#memory -= bytes;
  }

  takeDisk(more: number): boolean {
    if (this.#disk + more > this.#limits.diskBytes) return false;
    this.#disk += more;
    return true;
  }

  giveDisk(bytes: number): void {
    this.#disk -= bytes;
  }
}
