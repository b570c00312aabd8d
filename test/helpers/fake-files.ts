import type { ScratchFile, ScratchFiles } from '../../src/ports/scratch-files.ts';

/** Files in memory. Held, they do nothing until they are told to, one step at a time. */
export class FakeFiles implements ScratchFiles {
  readonly files: FakeFile[] = [];
  held = false;
  /** What the next steps fail with. */
  failure: Error | undefined;
  readonly #steps: (() => void)[] = [];

  /** How many are open. */
  get open(): number {
    return this.files.filter((file) => !file.closed).length;
  }

  /** How many steps wait to be told. */
  get waiting(): number {
    return this.#steps.length;
  }

  async create(): Promise<ScratchFile> {
    await this.step();
    const file = new FakeFile(this);
    this.files.push(file);
    return file;
  }

  /** Lets the first step that waits happen, and all that follows from it up to the next. */
  async next(): Promise<void> {
    this.#steps.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  async step(): Promise<void> {
    if (this.held) await new Promise<void>((resolve) => this.#steps.push(resolve));
    if (this.failure !== undefined) throw this.failure;
  }
}

class FakeFile implements ScratchFile {
  readonly #files: FakeFiles;
  closed = false;
  #content: Buffer = Buffer.alloc(0);
  readonly #added: Buffer[] = [];

  constructor(files: FakeFiles) {
    this.#files = files;
  }

  get content(): Buffer {
    if (this.#added.length > 0) this.#content = Buffer.concat([this.#content, ...this.#added.splice(0)]);
    return this.#content;
  }

  async append(parts: readonly Buffer[]): Promise<void> {
    await this.#files.step();
    this.#mustBeOpen();
    this.#added.push(...parts);
  }

  async read(into: Buffer, at: number): Promise<number> {
    await this.#files.step();
    this.#mustBeOpen();
    return this.content.copy(into, 0, at);
  }

  close(): Promise<void> {
    this.#mustBeOpen();
    this.closed = true;
    return Promise.resolve();
  }

  #mustBeOpen(): void {
    if (this.closed) throw new Error('the file is closed');
  }
}
