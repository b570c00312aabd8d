/** One log line is shown up to this many characters. */
export const LINE_LIMIT = 4_096;

// oxlint-disable no-control-regex -- control characters are what these look for
// Control sequences, strings such as a window title or a link (which may lack their end when a line was cut), and
// what else begins with an escape.
const CONTROL_SEQUENCE = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g;
const CONTROL_STRING = /(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)/g;
const OTHER_ESCAPE = /\x1b[ -/]*[0-~]?/g;
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/** A line as a terminal would leave it, without its colours: of a progress bar only the last state, and bounded. */
export function plainLine(line: string): string {
  const bare = line.replace(CONTROL_STRING, '').replace(CONTROL_SEQUENCE, '').replace(OTHER_ESCAPE, '');
  const shown = bare.split('\r').findLast((state) => state.trim() !== '') ?? '';
  const plain = shown.replace(CONTROL, '').trimEnd();
  return plain.length <= LINE_LIMIT ? plain : `${plain.slice(0, LINE_LIMIT)}…`;
}

/** All lines of a text that say something. */
export function plainLines(text: string): string[] {
  return text
    .split('\n')
    .map(plainLine)
    .filter((line) => line !== '');
}

/** Makes lines of bytes that come in pieces. Holds no more than one line, and of a long one only its beginning. */
export class LineSplitter {
  readonly #decoder = new TextDecoder();
  #held = '';

  push(bytes: Uint8Array): string[] {
    const parts = this.#decoder.decode(bytes, { stream: true }).split('\n');
    const last = parts.pop() ?? '';
    const [first, ...rest] = parts;
    if (first === undefined) {
      this.#hold(this.#held + last);
      return [];
    }
    const lines = [this.#held + first, ...rest];
    this.#hold(last);
    return lines.map(plainLine).filter((line) => line !== '');
  }

  /** What came after the last line's end. */
  flush(): string[] {
    const rest = plainLines(this.#held + this.#decoder.decode());
    this.#held = '';
    return rest;
  }

  #hold(text: string): void {
    // A progress bar may redraw itself for hours without ending its line; its last state is what counts.
    const redrawn = text.length > LINE_LIMIT ? text.slice(text.lastIndexOf('\r', text.length - 2) + 1) : text;
    this.#held = redrawn.slice(0, 2 * LINE_LIMIT);
  }
}
