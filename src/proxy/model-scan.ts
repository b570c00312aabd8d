import { LONGEST_NAME, MOST_MENTIONS, type NameScanner, type Problem, type Range, type Scan } from './name-scanner.ts';
import { ObjectReader, textOf, type Members } from './object-reader.ts';

const QUOTE = 0x22;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;
const BRACE = 0x7b;
/** The longest key that matters, `thinking`, written with an escape for each letter; a longer key is another one. */
const LONGEST_KEY = 48;
/** The longest word that `thinking` takes is `disabled`. */
const LONGEST_WORD = 50;

/** Finds the top-level `model` of a JSON body that comes in pieces, and on the way what else decides what becomes of it. */
export class ModelScanner implements NameScanner, Members {
  readonly #reader = new ObjectReader(this, LONGEST_KEY);
  #key: string | undefined;
  #valueFrom = 0;
  /** Whether the value that is being read is the name. */
  #inName = false;
  #stream: boolean | undefined;
  #thinking: string | undefined;
  #name: string | undefined;
  readonly #at: Range[] = [];

  get name(): string | undefined {
    return this.#name;
  }

  /** Whether the top-level `stream` is `true`; undefined where there is none. */
  get stream(): boolean | undefined {
    return this.#stream;
  }

  get thinking(): string | undefined {
    return this.#thinking;
  }

  get at(): readonly Range[] {
    return this.#at;
  }

  get judged(): number {
    return this.#inName ? this.#valueFrom : this.#reader.offset;
  }

  get problem(): Problem | undefined {
    return this.#reader.problem;
  }

  feed(chunk: Buffer): void {
    this.#reader.feed(chunk);
  }

  end(): Scan {
    if (this.problem === undefined) {
      if (this.#reader.offset === 0) return { kind: 'missing' };
      this.#reader.end();
    }
    if (this.problem !== undefined) return { kind: 'unreadable', problem: this.problem };
    return this.#name === undefined ? { kind: 'missing' } : { kind: 'found', name: this.#name, at: this.#at };
  }

  key(key: string | undefined): void {
    this.#key = key;
  }

  begins(first: number, from: number): number {
    switch (this.#key) {
      case 'model':
        this.#valueFrom = from;
        this.#inName = first === QUOTE;
        if (!this.#inName) this.#reader.refuse('`model` must be a string.');
        return LONGEST_NAME + 2;
      case 'stream':
        this.#stream = first === LETTER_T;
        return 0;
      case 'thinking':
        // An object is the engine's business; a number, `true` or a list is nobody's.
        this.#thinking = first === BRACE || first === LETTER_N ? undefined : 'no text and no object';
        return first === QUOTE ? LONGEST_WORD : 0;
      default:
        return 0;
    }
  }

  tooLong(): string | undefined {
    if (this.#inName) return `\`model\` is longer than ${LONGEST_NAME} bytes. GET /v1/models lists the models.`;
    this.#thinking = 'a text of that length';
    return undefined;
  }

  ends(to: number, kept: Buffer | undefined): void {
    if (kept === undefined) return;
    const text = textOf(kept.toString());
    if (text === undefined) this.#reader.refuse('A string of the body is not valid JSON. Check its escapes.');
    else if (this.#inName) this.#mention(text, { from: this.#valueFrom, to });
    else this.#thinking = text;
    this.#inName = false;
  }

  closes(): void {
    // Nothing to do: what matters has been told by then.
  }

  #mention(name: string, at: Range): void {
    if ((this.#name ?? name) !== name || this.#at.length === MOST_MENTIONS) {
      this.#reader.refuse('The body has more than one `model`. Send one.', 'duplicate_model');
      return;
    }
    this.#name = name;
    this.#at.push(at);
  }
}
