/** What some processes hold in main memory, shared pages counted once. */
export type ProcessMemory = {
  /** How many of them live. */
  readonly count: number;
  /** All they hold, mapped files too. Undefined where it cannot be read. */
  readonly bytes: number | undefined;
  /** What is theirs alone: no file could be read again in its place. */
  readonly privateBytes: number | undefined;
};

export interface MainMemory {
  /** Never rejects; processes that end meanwhile do not count. */
  of(pids: readonly number[]): Promise<ProcessMemory>;
}
