import type { MayUse } from '../access/key.ts';
import type { Millis, ModelId } from '../core/kinds.ts';
import type { Priority } from '../core/place.ts';
import type { Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';
import type { Admission } from '../runtime/admission.ts';
import type { BodyStore } from './body-store.ts';
import type { RequestBook } from './request-book.ts';
import type { Rewrite } from './rewrite.ts';
import type { Thinking } from './thinking.ts';

/** What a name a client wrote stands for. */
export type Target = {
  readonly model: ModelId;
  /** Whether requests may load it. */
  readonly enabled: boolean;
  /** How long its engine may take to begin an answer. */
  readonly responseMs: number;
  /** How long it may pause in an answer, and how long a request may be served in all. Either may be for ever. */
  readonly idleMs: number;
  readonly totalMs: number;
  /** What is done to the parameters of its JSON requests. */
  readonly rewrite: Rewrite | undefined;
  readonly thinking: Thinking;
  /** Whether it takes one text at a time, in a structure that clients do not send. */
  readonly translates: boolean;
};

/** The bounds of the data plane that are the same for every model. */
export type Limits = {
  readonly maxConnections: number;
  readonly maxHeaderBytes: number;
  readonly headerMs: number;
  readonly maxBodyBytes: number;
  readonly bodyMs: number;
  /** From which size on bodies are passed on while they come (0: never), and how long one may then take. */
  readonly passOnBytes: number;
  readonly passOnMs: number;
  /** How long an idle client connection is kept. */
  readonly keepAliveMs: number;
  /** How long a client may take nothing of an answer that is ready for it. */
  readonly slowReaderMs: number;
  /** How long an engine may take to accept a connection. */
  readonly connectMs: number;
  /** After how long, and then how often, a stream that waits is told why. The first may be for ever. */
  readonly commentAfterMs: number;
  readonly commentEveryMs: number;
  /** How often a request that the deadline of a drain cut before its first byte goes back to its place. */
  readonly drainReplays: number;
  /** The highest priority that a request may ask for itself. */
  readonly maxPriority: Priority;
};

/** All that the data plane needs of the rest of catnap. */
export type Gate = {
  /** What a model id or an alias stands for now, to somebody who may use these models. */
  readonly find: (name: string, mayUse?: MayUse) => Target | undefined;
  /** Who answers a request that names no model: nobody, nobody at present, or this model. */
  readonly unnamed: (mayUse?: MayUse) => Target | 'nobody' | 'nobody-awake';
  /** A request says which model it is followed by. Whoever sends it may use these models; what it names may be no model. */
  readonly announce: (name: string, mayUse?: MayUse) => void;
  readonly admission: Admission;
  /** Which requests are open. */
  readonly requests: RequestBook;
  /** Where bodies wait. */
  readonly bodies: BodyStore;
  /** The origins of web pages that may ask models, or `*`. */
  readonly corsOrigins: readonly string[];
  /** Paths of the engines' own pages below `/upstream`, which wake no model. */
  readonly assets: readonly RegExp[];
  /** When it makes sense to ask for this model again. */
  readonly retryAfterMs: (model: ModelId) => number;
  /** What those who wait for this model are waiting for, in words. Of models that they may not use they are told no names. */
  readonly progress: (model: ModelId, mayUse?: MayUse) => string;
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly limits: Limits;
  /** Told of every error that is a bug of ours, after the request it hit has been answered. */
  readonly bug: (error: unknown) => void;
};

/** One request from the moment its head was read. */
export type Arrival = {
  readonly id: string;
  readonly at: Millis;
  /** Aborted when the client has left. */
  readonly signal: AbortSignal;
  /** Aborts it for another reason. */
  readonly leave: (why: Error) => void;
};
