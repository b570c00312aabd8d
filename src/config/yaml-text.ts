import { isMap, isScalar, isSeq, parseDocument, type Node } from 'yaml';
import { pathText, placesIn, type Path, type Place } from './place.ts';
import { shallow, TOO_DEEP, unusable, type Fault, type Text } from './text.ts';

/** How much aliases may multiply a file before it counts as an attack on memory. */
const MOST_ALIASES = 100;

/** Reads YAML, and remembers where everything was. */
export function readYaml(text: string): Text {
  return shallow(() => {
    const placeAt = placesIn(text);
    const document = parseDocument(text, { prettyErrors: false, merge: true });
    const flaws = [...document.errors, ...document.warnings];
    // Too deep once is too deep: what else was found on the way is no other fault.
    const deep = flaws.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
    if (deep !== undefined) return unusable({ place: placeAt(deep.pos[0]), message: TOO_DEEP });
    if (flaws.length > 0) {
      return unusable(...flaws.map((flaw) => ({ place: placeAt(flaw.pos[0]), message: plain(flaw.message) })));
    }
    const places = new Map<string, Place>([['', placeAt(0)]]);
    const faults: Fault[] = [];
    walk(document.contents, [], (path, offset) => {
      const place = placeAt(offset);
      places.set(pathText(path), place);
      if (path.at(-1) === '__proto__') faults.push({ place, message: 'the key "__proto__" is not allowed' });
    });
    if (faults.length > 0) return unusable(...faults);
    try {
      return { value: document.toJS({ maxAliasCount: MOST_ALIASES }), places, faults };
    } catch (error) {
      if (error instanceof ReferenceError) return unusable({ place: placeAt(0), message: plain(error.message) });
      throw error;
    }
  });
}

/** Calls `visit` for every path that is written out. What an alias stands for is found at its anchor. */
function walk(node: unknown, path: Path, visit: (path: Path, offset: number) => void): void {
  if (isMap(node)) {
    visit(path, startOf(node));
    for (const { key, value } of node.items) {
      if (!isScalar(key)) continue;
      const inner = [...path, String(key.value)];
      walk(value, inner, visit);
      visit(inner, startOf(key));
    }
  } else if (isSeq(node)) {
    visit(path, startOf(node));
    node.items.forEach((item, index) => walk(item, [...path, index], visit));
  } else if (isScalar(node)) {
    visit(path, startOf(node));
  }
}

const startOf = (node: Node): number => node.range?.[0] ?? 0;

/** The parser's first line, as the rest of a sentence. */
const plain = (message: string): string => (message.split('\n', 1)[0] ?? message).replace(/[.:]$/, '');
