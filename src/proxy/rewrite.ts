import type { Refusal } from './envelope.ts';
import { ObjectReader, type Members } from './object-reader.ts';
import type { Edit } from './splicer.ts';

/** What is done to one parameter of a request. `json`: the value as it is written. */
export type Touch = { readonly kind: 'set' | 'default'; readonly json: string } | { readonly kind: 'strip' };

/** What is done to the top level of a JSON body, parameter by parameter. Never to `model`, which has a way of its own. */
export type Rewrite = ReadonlyMap<string, Touch>;

/** A rewrite that depends on what some parameters hold: those are parsed, and nothing else is. */
export type Shape = {
  readonly reads: readonly string[];
  /** Gets what is there, as the model's own rewrite leaves it. */
  readonly rewrite: (values: ReadonlyMap<string, unknown>) => Rewrite | Refusal;
};

/** A body with more mentions of touched parameters was not written by a client. */
const MOST_MENTIONS = 1_000;
/** So much of a body is parsed at most. */
const MOST_PARSED = 1_048_576;

/** One mention of a parameter that may be touched. */
type Member = {
  readonly key: string;
  readonly keyFrom: number;
  readonly comma: number;
  readonly valueFrom: number;
  readonly valueTo: number;
  /** Where the member after it begins. */
  nextFrom: number | undefined;
  /** Whether one that is not touched stands before it. */
  readonly behindOther: boolean;
};

/** Finds what must change in a body that was found to be one JSON object, for a rewrite that leaves every other byte as it is. */
export class Rewriter implements Members {
  readonly #reader: ObjectReader;
  readonly #rewrite: Rewrite;
  readonly #shapes: readonly Shape[];
  readonly #reads: ReadonlySet<string>;
  readonly #values = new Map<string, unknown>();
  readonly #mentions: Member[] = [];
  #parsed = 0;
  #refusal: Refusal | undefined;
  #key: string | undefined;
  #keyFrom = 0;
  #comma = 0;
  #valueFrom = 0;
  #hasOther = false;
  #close = 0;

  constructor(rewrite: Rewrite, shapes: readonly Shape[] = []) {
    this.#rewrite = rewrite;
    this.#shapes = shapes;
    this.#reads = new Set(shapes.flatMap(({ reads }) => reads));
    const keys = [...rewrite.keys(), ...this.#reads];
    // Each letter may be written as an escape of six.
    this.#reader = new ObjectReader(this, 6 * Math.max(0, ...keys.map((key) => Buffer.byteLength(key))));
  }

  feed(chunk: Buffer): void {
    this.#reader.feed(chunk);
  }

  /** Every change in the order of the body, or why there is none. */
  end(): readonly Edit[] | Refusal {
    if (this.#mentions.length > MOST_MENTIONS) {
      return { code: 'invalid_request', message: 'The body has the same parameters over and over. Send each once.' };
    }
    if (this.#refusal !== undefined) return this.#refusal;
    const touches = new Map(this.#rewrite);
    for (const shape of this.#shapes) {
      const shaped = shape.rewrite(valuesUnder(touches, this.#values, shape.reads));
      if ('code' in shaped) return shaped;
      for (const [key, touch] of shaped) touches.set(key, touch);
    }
    return editsOf(touches, this.#mentions, { behindOther: this.#hasOther, close: this.#close });
  }

  key(key: string | undefined, from: number, comma: number): void {
    this.#key = key;
    this.#keyFrom = from;
    this.#comma = comma;
    const last = this.#mentions.at(-1);
    if (last !== undefined) last.nextFrom ??= from;
  }

  begins(_first: number, from: number): number {
    this.#valueFrom = from;
    return this.#key !== undefined && this.#reads.has(this.#key) ? Math.max(1, MOST_PARSED - this.#parsed) : 0;
  }

  tooLong(): undefined {
    this.#refusal ??= {
      code: 'body_too_large',
      message: `\`${this.#key}\` is longer than ${MOST_PARSED} bytes, which is what is read of a request for this model. Send less at a time.`,
    };
  }

  ends(to: number, kept: Buffer | undefined): void {
    const key = this.#key;
    if (key === undefined || !(this.#rewrite.has(key) || this.#reads.has(key))) {
      this.#hasOther = true;
      return;
    }
    if (kept !== undefined) this.#parse(key, kept);
    if (this.#mentions.length > MOST_MENTIONS) return;
    this.#mentions.push({
      key,
      keyFrom: this.#keyFrom,
      comma: this.#comma,
      valueFrom: this.#valueFrom,
      valueTo: to,
      nextFrom: undefined,
      behindOther: this.#hasOther,
    });
  }

  closes(at: number): void {
    this.#close = at;
  }

  #parse(key: string, written: Buffer): void {
    this.#parsed += written.length;
    try {
      this.#values.set(key, JSON.parse(written.toString()));
    } catch {
      this.#refusal ??= { code: 'invalid_request', message: `\`${key}\` is not valid JSON.`, param: key };
    }
  }
}

/** What parameters hold once they have been touched. */
function valuesUnder(touches: Rewrite, sent: ReadonlyMap<string, unknown>, keys: readonly string[]) {
  const values = new Map<string, unknown>();
  for (const key of keys) {
    const touch = touches.get(key);
    if (touch !== undefined && touch.kind !== 'strip' && (touch.kind === 'set' || !sent.has(key))) {
      values.set(key, JSON.parse(touch.json));
    } else if (touch?.kind !== 'strip' && sent.has(key)) values.set(key, sent.get(key));
  }
  return values;
}

type Rest = {
  /** Whether there is a member that is not touched at all. */
  readonly behindOther: boolean;
  readonly close: number;
};

function editsOf(touches: Rewrite, mentions: readonly Member[], { behindOther, close }: Rest): readonly Edit[] {
  const edits: Edit[] = [];
  /** Whether one of the mentions so far stays: if any member does, one that is taken out takes its comma along. */
  let stays = false;
  for (const { key, keyFrom, comma, valueFrom, valueTo, nextFrom, behindOther: isBehind } of mentions) {
    const touch = touches.get(key);
    if (touch?.kind === 'strip') {
      if (stays || isBehind) edits.push({ from: comma, to: valueTo, text: '' });
      else edits.push({ from: keyFrom, to: nextFrom ?? valueTo, text: '' });
      continue;
    }
    stays = true;
    if (touch?.kind === 'set') edits.push({ from: valueFrom, to: valueTo, text: touch.json });
  }
  const met = new Set(mentions.map(({ key }) => key));
  const added = [...touches].flatMap(([key, touch]) =>
    touch.kind === 'strip' || met.has(key) ? [] : [`${JSON.stringify(key)}:${touch.json}`],
  );
  if (added.length > 0) {
    edits.push({ from: close, to: close, text: `${stays || behindOther ? ',' : ''}${added.join(',')}` });
  }
  return edits;
}
