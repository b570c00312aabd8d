import type { Body, Outflow } from './outflow.ts';
import { growth, Splicer, type Edit } from './splicer.ts';

/** The same body with its edits made, which come in its order, and every other byte as it was. */
export class EditedBody implements Body {
  readonly #body: Body;
  readonly #edits: readonly Edit[];

  constructor(body: Body, edits: readonly Edit[]) {
    this.#body = body;
    this.#edits = edits;
  }

  get once(): boolean {
    return this.#body.once;
  }

  get bytes(): number {
    return this.#body.bytes + growth(this.#edits);
  }

  /** Made anew each time, so that it is held no longer than it is needed. */
  get chunks(): readonly Buffer[] | undefined {
    const splicer = new Splicer(this.#edits);
    const passed = this.#body.chunks?.flatMap((chunk) => splicer.pass(chunk));
    return passed === undefined ? undefined : [...passed, ...splicer.end()];
  }

  open(): Outflow {
    return new Edited(this.#body.open(), this.#edits);
  }
}

class Edited implements Outflow {
  readonly #source: Outflow;
  readonly #splicer: Splicer;
  #ended = false;

  constructor(source: Outflow, edits: readonly Edit[]) {
    this.#source = source;
    this.#splicer = new Splicer(edits);
  }

  async next(): Promise<readonly Buffer[] | undefined> {
    if (this.#ended) return undefined;
    const pieces = await this.#source.next();
    if (pieces !== undefined) return pieces.flatMap((piece) => this.#splicer.pass(piece));
    this.#ended = true;
    return this.#splicer.end();
  }

  close(): void {
    this.#source.close();
  }
}
