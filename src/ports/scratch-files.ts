/** A file that nobody else can open, and that is gone with its last handle, however we end. */
export interface ScratchFile {
  /** Adds to its end. One call at a time; rejects when the disk does not take it. */
  append(parts: readonly Buffer[]): Promise<void>;
  /** Fills `into` with what begins at this place; resolves to how much there was. */
  read(into: Buffer, at: number): Promise<number>;
  /** What is under way is let finish. Never rejects. */
  close(): Promise<void>;
}

export interface ScratchFiles {
  create(): Promise<ScratchFile>;
}
