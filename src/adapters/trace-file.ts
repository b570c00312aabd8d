import { appendFile, rename, stat } from 'node:fs/promises';

export type TraceFileOptions = {
  readonly path: string;
  /** The first line of each file. */
  readonly head: string;
  /** How large it may grow before it is put aside, as `PATH.1` in place of the one before. */
  readonly maxBytes: number;
  readonly onProblem: (message: string) => void;
};

/** So much may wait to be written; what comes while the disk does not keep up is left out and told. */
const MOST_WAITING = 4 * 1_048_576;

/** Lines at the end of a file that has a bound. Writing holds nobody up, and what goes wrong with it is told once. */
export class TraceFile {
  readonly #options: TraceFileOptions;
  #waiting = '';
  #leftOut = 0;
  #writing: Promise<void> | undefined;
  #bytes: number | undefined;
  #told = false;

  constructor(options: TraceFileOptions) {
    this.#options = options;
  }

  append(line: string): void {
    if (this.#waiting.length + line.length > MOST_WAITING) this.#leftOut++;
    else this.#waiting += `${line}\n`;
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when everything has been written. */
  async close(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#waiting !== '') {
        const text = this.#waiting;
        this.#waiting = '';
        // One after the other: the next piece goes behind this one.
        await this.#write(text);
      }
      if (this.#leftOut > 0) this.#tell(`${this.#leftOut} lines were left out, since the disk does not keep up`);
    } catch (error) {
      this.#tell(String(error));
    } finally {
      this.#writing = undefined;
    }
  }

  async #write(text: string): Promise<void> {
    const { path, head, maxBytes } = this.#options;
    this.#bytes ??= await sizeOf(path);
    if (this.#bytes > 0 && this.#bytes + text.length > maxBytes) {
      await rename(path, `${path}.1`);
      this.#bytes = 0;
    }
    const whole = this.#bytes === 0 ? `${head}\n${text}` : text;
    await appendFile(path, whole, { mode: 0o600 });
    this.#bytes += Buffer.byteLength(whole);
  }

  #tell(problem: string): void {
    if (this.#told) return;
    this.#told = true;
    this.#options.onProblem(`the trace in ${this.#options.path} is not complete: ${problem}`);
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    // It is made with the first line; a folder that is not there shows then.
    return 0;
  }
}
