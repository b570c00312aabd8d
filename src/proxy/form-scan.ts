import { boundaryOf, FIELD, readPartHead, STREAM_FIELD } from './form-head.ts';
import { LONGEST_NAME, MOST_MENTIONS, type NameScanner, type Problem, type Range, type Scan } from './name-scanner.ts';

const LONGEST_HEAD = 16_384;
/** What the usual readers of forms take for true. */
const SAYS_YES = /^(?:true|t|yes|y|on|1)$/i;
const DASHES = Buffer.from('--');
const LINE_END = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');

/** What comes next: the first boundary, what stands behind a boundary, the head of a part, its content, or nothing. */
type Place = 'start' | 'boundary' | 'head' | 'content' | 'end';

/**
 * Finds the field `model` of a multipart form that comes in pieces. Files pass through it; never more than a head is kept.
 * It is stricter than the rules of forms, so that no engine finds another model in one that it accepts.
 */
export class FormScanner implements NameScanner {
  readonly #delimiter: Buffer;
  #place: Place = 'start';
  /** What has come and could not be read yet. */
  #rest: Buffer = Buffer.alloc(0);
  /** Where in the body `#rest` begins. */
  #offset = 0;
  #bytes = 0;
  /** What the part is for. */
  #part: 'model' | 'stream' | 'other' = 'other';
  #stream: boolean | undefined;
  #taken: Buffer[] = [];
  #takenBytes = 0;
  #takenFrom = 0;
  #name: string | undefined;
  readonly #at: Range[] = [];
  #problem: Problem | undefined;

  constructor(contentType: string) {
    const boundary = boundaryOf(contentType);
    this.#delimiter = Buffer.from(`\r\n--${boundary ?? ''}`, 'latin1');
    if (boundary === undefined) this.#refuse('Its Content-Type has no `boundary` that can be read');
  }

  /** What the field `stream` says; undefined where there is none. */
  get stream(): boolean | undefined {
    return this.#stream;
  }

  /** Forms are for sounds and images, which nobody thinks about. */
  get thinking(): undefined {
    return undefined;
  }

  get name(): string | undefined {
    return this.#name;
  }

  get at(): readonly Range[] {
    return this.#at;
  }

  get judged(): number {
    return this.#place === 'content' && this.#part === 'model' ? this.#takenFrom : this.#bytes;
  }

  get problem(): Problem | undefined {
    return this.#problem;
  }

  feed(chunk: Buffer): void {
    if (this.#problem !== undefined) return;
    this.#bytes += chunk.length;
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let goesOn = true;
    while (goesOn && this.#problem === undefined) goesOn = this.#step();
  }

  end(): Scan {
    if (this.#problem === undefined && this.#place !== 'end') {
      if (this.#bytes === 0) return { kind: 'missing' };
      this.#refuse(`It ends after ${this.#bytes} bytes, before its last boundary`);
    }
    if (this.#problem !== undefined) return { kind: 'unreadable', problem: this.#problem };
    return this.#name === undefined ? { kind: 'missing' } : { kind: 'found', name: this.#name, at: this.#at };
  }

  /** Whether there may be more to read in what has come. */
  #step(): boolean {
    switch (this.#place) {
      case 'start':
        return this.#start();
      case 'boundary':
        return this.#boundary();
      case 'head':
        return this.#head();
      case 'content':
        return this.#content();
      case 'end':
        if (!/^\s*$/.test(this.#rest.toString('latin1'))) this.#refuse('Something follows its last boundary');
        this.#skip(this.#rest.length);
        return false;
    }
  }

  #start(): boolean {
    const first = this.#delimiter.subarray(LINE_END.length);
    if (this.#offset === 0 && startsWith(this.#rest, LINE_END)) this.#skip(LINE_END.length);
    if (this.#rest.length < first.length) {
      const sofar = this.#rest.equals(LINE_END.subarray(0, this.#rest.length)) || startsWith(first, this.#rest);
      if (!sofar) this.#refuse('It does not begin with its boundary');
      return false;
    }
    if (!startsWith(this.#rest, first)) this.#refuse('It does not begin with its boundary');
    this.#skip(first.length);
    this.#place = 'boundary';
    return true;
  }

  #boundary(): boolean {
    if (this.#rest.length < 2) return false;
    if (startsWith(this.#rest, DASHES)) this.#place = 'end';
    else if (startsWith(this.#rest, LINE_END)) this.#place = 'head';
    else this.#refuse(`Something follows a boundary at byte ${this.#offset}`);
    this.#skip(2);
    return true;
  }

  #head(): boolean {
    const end = this.#rest.indexOf(HEAD_END);
    if (end === -1 || end > LONGEST_HEAD) {
      if (this.#rest.length > LONGEST_HEAD) this.#refuse('The head of one of its parts is too long');
      return false;
    }
    const head = readPartHead(this.#rest.toString('utf8', 0, end));
    if (head.kind === 'twisted') {
      this.#refuse(`One of its parts has ${head.why}`);
      return false;
    }
    this.#part = head.name === FIELD ? 'model' : head.name === STREAM_FIELD && head.plain ? 'stream' : 'other';
    if (this.#part === 'model' && !head.plain) this.#refuse('`model` is a file or is encoded');
    // The line end before a boundary belongs to the boundary, also where the content is empty.
    this.#skip(end + LINE_END.length);
    this.#takenFrom = this.#offset + LINE_END.length;
    this.#place = 'content';
    return true;
  }

  #content(): boolean {
    const end = this.#rest.indexOf(this.#delimiter);
    // What looks like the beginning of a boundary may go on in the next piece.
    const sure = end === -1 ? this.#rest.length - this.#delimiter.length + 1 : end;
    if (sure > 0) {
      this.#take(this.#rest.subarray(0, sure));
      this.#skip(sure);
    }
    if (end === -1) return false;
    if (this.#offset < this.#takenFrom) this.#refuse('One of its parts has a boundary in place of its content');
    if (this.#part === 'model') this.#mention();
    else if (this.#part === 'stream') this.#stream = SAYS_YES.test(this.#takeAll());
    this.#skip(this.#delimiter.length);
    this.#place = 'boundary';
    return true;
  }

  #take(content: Buffer): void {
    if (this.#part === 'other') return;
    this.#takenBytes += content.length;
    if (this.#takenBytes <= LONGEST_NAME + LINE_END.length) this.#taken.push(Buffer.from(content));
    else if (this.#part === 'model') this.#refuse(`\`model\` is longer than ${LONGEST_NAME} bytes`);
  }

  /** At the end of the content of a field `model`, of which the empty line before it is the beginning. */
  #mention(): void {
    const name = this.#takeAll();
    const at = { from: this.#takenFrom, to: Math.max(this.#offset, this.#takenFrom) };
    if ((this.#name ?? name) !== name || this.#at.length === MOST_MENTIONS) {
      this.#problem ??= { code: 'duplicate_model', message: 'The form has more than one `model`. Send one.' };
      return;
    }
    this.#name = name;
    this.#at.push(at);
  }

  #takeAll(): string {
    const text = Buffer.concat(this.#taken).toString('utf8', LINE_END.length);
    this.#taken = [];
    this.#takenBytes = 0;
    return text;
  }

  #skip(bytes: number): void {
    this.#rest = this.#rest.subarray(bytes);
    this.#offset += bytes;
  }

  #refuse(why: string): void {
    this.#problem ??= {
      code: 'invalid_request',
      message: `The form cannot be read. ${why}. Send it as RFC 7578 says.`,
    };
  }
}

const startsWith = (bytes: Buffer, start: Buffer): boolean => bytes.subarray(0, start.length).equals(start);
