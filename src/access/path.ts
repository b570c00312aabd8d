import { accessTo, type AccessRow } from '../config/access.ts';

const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** A target without the scheme and host that some clients write before it. */
export const originForm = (url: string): string => url.replace(ORIGIN, '');

/** The host that a target itself names. */
export const hostInTarget = (url: string): string | undefined => /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];

/** What may be read in more than one way: escapes, backslashes, dots. */
const ODD = /[%\\]|\/\./;
const SLASH = '(?:[/\\\\]|%2f|%5c)';
const DOT = '(?:\\.|%2e)';
/** Dots that lead to another place for some readers, backslashes, and what no path has. */
const TWISTED = new RegExp(`(?:^|${SLASH})${DOT}{1,2}(?:$|${SLASH})|\\\\|%5c|%[01][0-9a-f]|%7f`, 'i');

export type Reading = {
  /** The row of the access table, if there is something at the path. */
  readonly row: AccessRow | undefined;
  /** Two readers may see two paths in it. It leads nowhere. */
  readonly twisted: boolean;
};

const STRICTNESS = { open: 0, infer: 1, admin: 2 };

/** The readings of the paths that come again and again; bounded, since anybody may send any path. */
const KNOWN = new Map<string, Reading>();
const MOST_KNOWN = 512;
const LONGEST_KNOWN = 64;

/** What a request asks to use. Of two readings of a path the one counts for which more is needed. */
export function readPath(method: string, url: string): Reading {
  if (url.length > LONGEST_KNOWN) return read(method, url);
  const mark = `${method} ${url}`;
  const known = KNOWN.get(mark);
  if (known !== undefined) return known;
  const reading = read(method, url);
  if (KNOWN.size < MOST_KNOWN) KNOWN.set(mark, reading);
  return reading;
}

function read(method: string, url: string): Reading {
  const target = originForm(url);
  const mark = target.search(/[?#]/);
  const path = mark === -1 ? target : target.slice(0, mark);
  const named = mark !== -1 && /[?&]model=/.test(target.slice(mark));
  const row = accessTo(path, method, named);
  if (!ODD.test(path)) return { row, twisted: false };
  const decoded = decode(path);
  const other = decoded === undefined ? undefined : accessTo(decoded, method, named);
  const stricter = STRICTNESS[other?.access ?? 'infer'] > STRICTNESS[row?.access ?? 'infer'] ? other : row;
  return { row: stricter, twisted: TWISTED.test(path) };
}

function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
