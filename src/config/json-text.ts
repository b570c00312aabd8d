import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import { pathText, placesIn, type Path, type Place } from './place.ts';
import { shallow, unusable, type Fault, type Text } from './text.ts';

/** What the parser's words mean to somebody who edits a file, and what to do. */
const FAULTS: Readonly<Record<string, readonly [message: string, fix?: string]>> = {
  InvalidSymbol: ['there is something here that JSON does not know', 'Names and texts stand in double quotes.'],
  InvalidNumberFormat: ['this is not a number in JSON'],
  PropertyNameExpected: ['a key in double quotes is expected', 'Perhaps there is a comma too many before it.'],
  ValueExpected: ['a value is expected', 'Perhaps there is a comma too many before it.'],
  ColonExpected: ['a colon is expected between a key and its value'],
  CommaExpected: ['a comma is expected', 'Perhaps the line before needs one at its end.'],
  CloseBraceExpected: ['a closing } is expected'],
  CloseBracketExpected: ['a closing ] is expected'],
  EndOfFileExpected: ['the config has ended and something follows', 'Remove what follows.'],
  InvalidCommentToken: ['JSON has no comments', 'Remove it, or use a YAML file.'],
  UnexpectedEndOfComment: ['JSON has no comments', 'Remove it, or use a YAML file.'],
  UnexpectedEndOfString: ['a text is not closed on its line', 'Add the closing double quote.'],
  UnexpectedEndOfNumber: ['a number is not complete'],
  InvalidUnicode: ['\\u must be followed by four hexadecimal digits'],
  InvalidEscapeCharacter: [
    'a backslash in a text must be followed by one of " \\ / b f n r t u',
    'Double the backslash.',
  ],
  InvalidCharacter: ['a text holds a control character', 'Write it as an escape, such as \\n or \\t.'],
};

const STRICT = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };

/** Reads JSON strictly, and remembers where everything was. */
export function readJson(text: string): Text {
  return shallow(() => {
    const placeAt = placesIn(text);
    const errors: ParseError[] = [];
    const root = parseTree(text, errors, STRICT);
    const [first] = errors;
    if (first !== undefined) return unusable(syntaxFault(first, placeAt));
    if (root === undefined) return unusable({ place: placeAt(0), message: 'is empty' });
    const walk = new Walk(placeAt);
    return { value: walk.value(root, []), places: walk.places, faults: walk.faults };
  });
}

/** Only the first is told: those after it mostly follow from it. */
function syntaxFault({ error, offset }: ParseError, placeAt: (offset: number) => Place): Fault {
  const [message, fix] = FAULTS[printParseErrorCode(error)] ?? ['this is not JSON'];
  return { place: placeAt(offset), message, fix };
}

/** Turns the tree into plain values. */
class Walk {
  readonly places = new Map<string, Place>();
  readonly faults: Fault[] = [];
  readonly #placeAt: (offset: number) => Place;

  constructor(placeAt: (offset: number) => Place) {
    this.#placeAt = placeAt;
  }

  value(node: Node, path: Path): unknown {
    this.#remember(path, node);
    if (node.type === 'object') return this.#object(node, path);
    if (node.type === 'array') return (node.children ?? []).map((child, index) => this.value(child, [...path, index]));
    return node.value;
  }

  #object(node: Node, path: Path): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (const property of node.children ?? []) {
      const [name, value] = property.children ?? [];
      if (name === undefined || value === undefined) continue;
      const key = String(name.value);
      if (key === '__proto__') this.#fault(name, 'the key "__proto__" is not allowed', 'Choose another name.');
      else if (Object.hasOwn(object, key)) this.#fault(name, `the key "${key}" is here twice`, 'Remove one of them.');
      else {
        const inner = [...path, key];
        object[key] = this.value(value, inner);
        this.#remember(inner, name);
      }
    }
    return object;
  }

  #remember(path: Path, node: Node): void {
    this.places.set(pathText(path), this.#placeAt(node.offset));
  }

  #fault(node: Node, message: string, fix: string): void {
    this.faults.push({ place: this.#placeAt(node.offset), message, fix });
  }
}
