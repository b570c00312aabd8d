import { invariant } from '../core/kinds.ts';

/**
 * A run-to-completion inbox: what is posted while a message is handled waits until that one is done, so a core object never sees itself half changed.
 * It is drained synchronously, so it only holds what one event sets off; the bound catches two owners that answer each other for ever.
 */
export class Mailbox<Message> {
  readonly #handle: (message: Message) => void;
  readonly #bound: number;
  readonly #waiting: Message[] = [];
  #running = false;

  constructor(handle: (message: Message) => void, bound = 100_000) {
    this.#handle = handle;
    this.#bound = bound;
  }

  post(message: Message): void {
    this.#waiting.push(message);
    if (this.#running) return;
    this.#running = true;
    try {
      for (let handled = 0; ; handled++) {
        invariant(handled < this.#bound, 'a mailbox does not come to rest');
        const next = this.#waiting.shift();
        if (next === undefined) return;
        this.#handle(next);
      }
    } finally {
      this.#running = false;
    }
  }
}
