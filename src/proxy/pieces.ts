/** Pieces smaller than this are put together, or a client that sends byte by byte would cost a hundred times what it sends. */
const SMALL = 4_096;
const BLOCK = 65_536;

/** What has come of a body, in few pieces however many it came in. */
export class Pieces {
  bytes = 0;
  #chunks: Buffer[] = [];
  #small: Buffer[] = [];
  #smallBytes = 0;

  add(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (chunk.length >= SMALL) {
      this.#flush();
      this.#chunks.push(chunk);
      return;
    }
    this.#small.push(chunk);
    this.#smallBytes += chunk.length;
    if (this.#smallBytes >= BLOCK || this.#small.length >= SMALL) this.#flush();
  }

  /** All of it; more may still be added. */
  get chunks(): readonly Buffer[] {
    this.#flush();
    return this.#chunks;
  }

  /** Gives all of it away, and is empty then. */
  take(): readonly Buffer[] {
    this.#flush();
    const all = this.#chunks;
    this.#chunks = [];
    this.bytes = 0;
    return all;
  }

  #flush(): void {
    if (this.#small.length === 0) return;
    const [only] = this.#small;
    this.#chunks.push(this.#small.length === 1 && only !== undefined ? only : Buffer.concat(this.#small));
    this.#small = [];
    this.#smallBytes = 0;
  }
}
