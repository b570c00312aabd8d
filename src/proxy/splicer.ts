/** A part of a body, and what stands there afterwards. */
export type Edit = { readonly from: number; readonly to: number; readonly text: string };

/** Makes edits in a body that passes in pieces. Every other byte stays as it is. */
export class Splicer {
  readonly #edits: Edit[];
  #next = 0;
  /** How far the body has passed, and how far what was replaced reaches. */
  #at = 0;
  #gone = 0;

  /** In their order. */
  constructor(edits: readonly Edit[] = []) {
    this.#edits = [...edits];
  }

  /** One more, behind all others and before anything of it has passed. */
  add(edit: Edit): void {
    this.#edits.push(edit);
  }

  /** What stands in place of the next piece. */
  pass(piece: Buffer): Buffer[] {
    const out: Buffer[] = [];
    const start = this.#at;
    const end = start + piece.length;
    for (let edit = this.#edits[this.#next]; edit !== undefined && edit.from < end; edit = this.#edits[++this.#next]) {
      this.#copy(out, piece, start, edit.from);
      if (edit.text !== '') out.push(Buffer.from(edit.text));
      this.#gone = edit.to;
    }
    this.#copy(out, piece, start, end);
    return out;
  }

  /** What is added behind the last byte. */
  end(): Buffer[] {
    return this.#edits.slice(this.#next).map(({ text }) => Buffer.from(text));
  }

  #copy(out: Buffer[], piece: Buffer, start: number, to: number): void {
    const from = Math.max(this.#at, this.#gone);
    if (to > from) out.push(piece.subarray(from - start, to - start));
    this.#at = Math.max(this.#at, to);
  }
}

/** How many bytes longer a body is afterwards. */
export const growth = (edits: readonly Edit[]): number =>
  edits.reduce((sum, { from, to, text }) => sum + Buffer.byteLength(text) - (to - from), 0);
