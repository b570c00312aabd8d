type Split =
  | { readonly kind: 'split'; readonly argv: readonly [string, ...string[]] }
  | { readonly kind: 'bad'; readonly problem: string };

/** An unquoted word, a single-quoted, a double-quoted part, a blank, or the start of a quote that does not end. */
const PART = /(\s+)|'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])|([^\s'"\\]+)|(['"\\])/g;

/** Splits a command line into words as a POSIX shell would, without expanding anything. */
export function splitCommand(line: string): Split {
  const words: string[] = [];
  let word: string | undefined;
  for (const [, blank, single, double, escaped, plain, open] of line.matchAll(PART)) {
    if (blank !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (open !== undefined) {
      return { kind: 'bad', problem: openEnd(open) };
    } else {
      const part = single ?? (double === undefined ? undefined : unescape(double)) ?? continued(escaped) ?? plain ?? '';
      word = (word ?? '') + part;
    }
  }
  if (word !== undefined) words.push(word);
  const [first, ...rest] = words;
  if (first === undefined || first === '') return { kind: 'bad', problem: 'names no program' };
  return { kind: 'split', argv: [first, ...rest] };
}

/** Inside double quotes a backslash is special only before these; before a line break it joins the lines. */
const unescape = (text: string): string => text.replaceAll(/\\(["\\$`])|\\\n/g, '$1');

/** Outside quotes a backslash keeps the next character; before a line break it joins the lines. */
const continued = (escaped: string | undefined): string | undefined => (escaped === '\n' ? '' : escaped);

const openEnd = (open: string): string =>
  open === '\\' ? 'ends in a lone backslash' : `has a ${open} that is never closed`;
