import type { PolicyName } from '../../src/core/policy/index.ts';
import type { CoreUnderTest } from './core-under-test.ts';

/** What became of a world. */
export type Story = {
  readonly ends: ReadonlyMap<string, number>;
  readonly swaps: number;
  readonly simulatedMs: number;
};

export type WorldOptions = {
  readonly core?: CoreUnderTest;
  readonly policy?: PolicyName;
  /** Whether some requests are more urgent than others, and some would have nobody put away. */
  readonly urgency?: boolean;
  /** Whether some requests say how long they wait at the most. */
  readonly deadlines?: boolean;
  /** Whether what engines sleep in is lost now and then. */
  readonly losses?: boolean;
  /** Whether there is what the config may switch on besides. */
  readonly extras?: boolean;
  /** Whether the config is read again and again while all this happens. */
  readonly reloads?: boolean;
  /** Whether models may be put away with requests in flight. They never are but under `slack`, so other worlds stay as they are. */
  readonly freezes?: boolean;
  /** Whether models may come in while others still leave. */
  readonly overlap?: boolean;
  /** Whether another catnap takes the engines over now and then. */
  readonly handovers?: boolean;
  /** Is given every line of the transcript. Without it none is made, which saves most of the time of a run. */
  readonly say?: (line: string) => void;
};
