import { originForm } from '../access/path.ts';

/** A request target, taken apart without changing a byte of it. */
export type RequestTarget = {
  /** In origin form, as it goes to the engine. */
  readonly target: string;
  /** Decoded. */
  readonly segments: readonly string[];
  /** After the `?`, as it was written. */
  readonly query: string;
};

/** What an engine might read as another path than we do: dots, a slash or a control character in a segment. */
const TWISTED = /^\.{1,2}$|[/\\\p{Cc}]/u;

/** Undefined for what two readers may understand in two ways. */
export function parseTarget(url: string): RequestTarget | undefined {
  const target = originForm(url);
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  if (!path.startsWith('/') || path.includes('#')) return undefined;
  const parts = path.slice(1).split('/').map(decode);
  if (parts.at(-1) === '') parts.pop();
  const segments: string[] = [];
  for (const part of parts) {
    if (part === undefined || part === '' || TWISTED.test(part)) return undefined;
    segments.push(part);
  }
  return { target, segments, query: mark === -1 ? '' : target.slice(mark + 1) };
}

/** The model a query names; null when it names two. */
export function modelInQuery(query: string): string | undefined | null {
  let found: string | undefined;
  for (const pair of query.split('&')) {
    const [key, value] = readPair(pair);
    if (key !== 'model' || value === undefined || value === '') continue;
    if (found !== undefined && found !== value) return null;
    found = value;
  }
  return found;
}

/** The same target with another model in its query, every other byte as it was. */
export function renameInTarget(target: string, name: string): string {
  const mark = target.indexOf('?');
  if (mark === -1) return target;
  const pairs = target
    .slice(mark + 1)
    .split('&')
    .map((pair) => (readPair(pair)[0] === 'model' ? `model=${encodeURIComponent(name)}` : pair));
  return `${target.slice(0, mark)}?${pairs.join('&')}`;
}

function readPair(pair: string): [string | undefined, string | undefined] {
  const equals = pair.indexOf('=');
  const key = equals === -1 ? pair : pair.slice(0, equals);
  const value = equals === -1 ? '' : pair.slice(equals + 1);
  return [decode(key.replaceAll('+', ' ')), decode(value.replaceAll('+', ' '))];
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
