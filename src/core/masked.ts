const MASK = '***';

/** The end of a name that means a secret, in whatever spelling. */
const NAME = String.raw`(?:(?:api|access|secret|private)[-_]?key|token|secret|password|passwd|passphrase|credentials?)`;
/** A value as a shell, a header or JSON has it. */
const VALUE = String.raw`(?:"[^"]*"|'[^']*'|[^\s&,;"'}\])]+)`;

/** A flag whose value is the next word. `-hft` is llama-server's short form of `--hf-token`. */
const FLAG = new RegExp(`^(?:--?[\\w.-]*${NAME}|-hft)$`, 'i');
const FLAG_GIVEN = new RegExp(`^(--?[\\w.-]*${NAME}=).+`, 'is');
const SECRET_NAME = new RegExp(`(?:${NAME}|authorization)$`, 'i');
/** A header may hold a secret under any name. */
const HEADER = /^(?:-H|--(?:proxy-)?header)$/;
const HEADER_GIVEN = /^(--(?:proxy-)?header=[^:]*:\s*).+/is;
/** `name:password`, as curl takes it. */
const USER = /^(?:-u|--(?:proxy-)?user)$/;

/** What is looked for within a text, such as a line for a shell. */
const WITHIN: readonly (readonly [RegExp, string])[] = [
  [/\b((?:proxy-)?authorization["']?\s*[:=]\s*["']?)[^"'\n]+/gi, `$1${MASK}`],
  [/\b(bearer\s+)[^\s"',;]+/gi, `$1${MASK}`],
  [/(\b[a-z][a-z\d+.-]{0,20}:\/\/)(?:[^\s/?#@:]*(:)[^\s/?#@]*|[^\s/?#@]+)@/gi, `$1${MASK}@`],
  [new RegExp(`((?:^|[\\s"'])(?:--?[\\w.-]{0,64}${NAME}|-hft)\\s+)${VALUE}`, 'gi'), `$1${MASK}`],
  [new RegExp(`(${NAME}["']?\\s*[:=]\\s*)${VALUE}`, 'gi'), `$1${MASK}`],
];

/** Any part of a query may be what lets one in, whatever its name. */
const QUERY = /(\bhttps?:\/\/[^\s?#"']*\?)([^\s#"']*)/gi;
const PART = /(^|&)([^&=]*=)?[^&]+/g;

/** A text without the secrets that may stand in it. */
const maskedText = (text: string): string =>
  WITHIN.reduce((rest, [what, mask]) => rest.replace(what, mask), text).replace(
    QUERY,
    (_whole, url: string, query: string) => url + query.replace(PART, `$1$2${MASK}`),
  );

/** A command line, or another list of words, that may be shown to anybody. */
export const maskedWords = (words: readonly string[]): readonly string[] =>
  words.map((word, at) => {
    const flag = words[at - 1] ?? '';
    if (FLAG.test(flag)) return MASK;
    if (FLAG_GIVEN.test(word)) return word.replace(FLAG_GIVEN, `$1${MASK}`);
    if (HEADER_GIVEN.test(word)) return word.replace(HEADER_GIVEN, `$1${MASK}`);
    if (HEADER.test(flag)) return word.replace(/^([^:]*:\s*).+/s, `$1${MASK}`);
    if (USER.test(flag)) return word.replace(/^([^:]*:).+/s, `$1${MASK}`);
    return maskedText(word);
  });

/** Whatever a config may hold, with its secrets masked, however deep they lie. What knows how to show itself is left to. */
export function masked(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return SECRET_NAME.test(name) ? MASK : maskedText(value);
  if (Array.isArray(value)) {
    const words: readonly unknown[] = value;
    if (SECRET_NAME.test(name)) return words.map(() => MASK);
    return words.every((word) => typeof word === 'string') ? maskedWords(words) : words.map((word) => masked(word));
  }
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, masked(inner, key)]));
}
