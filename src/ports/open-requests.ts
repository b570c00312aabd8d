import type { Millis, ModelId } from '../core/kinds.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Priority } from '../core/place.ts';

/** How far a request has come: its body is on its way; it waits for its turn; an engine has it; the engine answers. */
export type RequestLeg = 'arriving' | 'waiting' | 'granted' | 'streaming' | 'suspended';

/** One request that is open, as operators see it. Nothing that was said in it. */
export type RequestSight = {
  readonly id: string;
  /** Requests are numbered as they come; ids are the clients' and need not differ. */
  readonly number: number;
  readonly at: Millis;
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  /** The name of the key it came with. */
  readonly key: string | undefined;
  /** The address it came from. */
  readonly client: string | undefined;
  /** Undefined until it is known. */
  readonly model: ModelId | undefined;
  readonly leg: RequestLeg;
  /** How long it has waited for its turn, or did until it had it. */
  readonly waitedMs: number;
  readonly priority: Priority;
  /** When its wait is over, where its client says so. */
  readonly deadline: Millis | undefined;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly chunksOut: number;
};

/** What is open on the data plane now. */
export interface OpenRequests {
  /** In the order in which they came. */
  list(): readonly RequestSight[];
  /** Ends one. Resolves with how it ended, which may be that it was served just in time; undefined: there is none of this number. */
  cancel(number: number): Promise<Outcome> | undefined;
}
