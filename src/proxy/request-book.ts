import type { Outcome } from '../core/outcome.ts';
import type { OpenRequests, RequestSight } from '../ports/open-requests.ts';
import type { Refusal } from './envelope.ts';

/** The reason of the signal of a request that an operator has ended. */
export const CANCELLATION = new Error('an operator has ended the request');

/** What its client is told. */
export const CANCELLED: Refusal = {
  code: 'request_cancelled',
  message: 'An operator has ended this request.',
};

/** A request between its head and its record. */
export interface OpenRequest {
  sight(number: number): RequestSight;
  /** Ends it as soon as it can be. Resolves with how it ended. */
  cancel(): Promise<Outcome>;
}

/** The requests that are open, for those who look at them or end one. As many as there may be connections. */
export class RequestBook implements OpenRequests {
  readonly #open = new Map<number, OpenRequest>();
  #last = 0;

  /** Gives its number, with which it is taken out again in the turn in which it is told of. */
  add(request: OpenRequest): number {
    this.#open.set(++this.#last, request);
    return this.#last;
  }

  remove(number: number): void {
    this.#open.delete(number);
  }

  list(): readonly RequestSight[] {
    return [...this.#open].map(([number, request]) => request.sight(number));
  }

  cancel(number: number): Promise<Outcome> | undefined {
    return this.#open.get(number)?.cancel();
  }
}
