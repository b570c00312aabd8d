/** What is to be read so that the system has it in memory when an engine wants it. */
export type ReadAhead = {
  readonly files: readonly string[];
  /** No more than this, no faster than this, and only while so much memory is available besides. */
  readonly mostBytes: number;
  readonly bytesPerSec: number;
  readonly keepFreeBytes: number;
  /** Processes whose own reads come first. */
  readonly spare: () => readonly number[];
  readonly signal: AbortSignal;
};

/** `memory`: there was too little left. `disk`: somebody whose reads come first had to read. */
export type ReadAheadEnd = {
  readonly end: 'whole' | 'bound' | 'memory' | 'disk' | 'stopped' | 'failed';
  readonly bytes: number;
  readonly reason?: string;
};

export interface PageCache {
  /** Never rejects. */
  readAhead(order: ReadAhead): Promise<ReadAheadEnd>;
}
