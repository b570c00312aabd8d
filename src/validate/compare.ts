import type { Answer, Token } from './answers.ts';

/** How an answer compares with the one before the sleep. */
export type Comparison =
  | { readonly kind: 'match' }
  /** They part where two candidates were as good as equal, which the order of additions decides. */
  | { readonly kind: 'near'; readonly at: number; readonly gap: number }
  | { readonly kind: 'differs'; readonly how: string }
  | { readonly kind: 'empty' }
  | { readonly kind: 'none'; readonly why: string };

/** Two candidates closer than this, in nats, are a matter of rounding. */
const NEAR = 0.05;
/** Vectors may differ by this share of their length. */
const VECTOR_SHARE = 0.001;
const SHOWN = 40;

export function compare(before: Answer, after: Answer): Comparison {
  if (after.kind === 'none') return after;
  if (before.kind === 'none') return before;
  if (before.kind === 'vector' && after.kind === 'vector') return compareVectors(before.values, after.values);
  if (before.kind === 'vector' || after.kind === 'vector')
    return { kind: 'differs', how: 'it was text on one side and a vector on the other' };
  if (after.text.trim() === '' || before.text.trim() === '') return { kind: 'empty' };
  if (before.tokens !== undefined && after.tokens !== undefined) return compareTokens(before.tokens, after.tokens);
  if (before.text === after.text) return { kind: 'match' };
  return { kind: 'differs', how: `${quoted(before.text)} became ${quoted(after.text)}` };
}

function compareTokens(before: readonly Token[], after: readonly Token[]): Comparison {
  const at = before.findIndex((token, place) => token.text !== after[place]?.text);
  if (at === -1 && before.length === after.length) return { kind: 'match' };
  if (at === -1) return { kind: 'differs', how: `it went on for ${after.length - before.length} tokens more` };
  const { second, gap, text } = before[at] ?? { second: undefined, gap: undefined, text: '' };
  const said = after[at]?.text;
  if (gap !== undefined && gap < NEAR && said !== undefined && said === second) return { kind: 'near', at, gap };
  const shown = said === undefined ? 'the end' : quoted(said);
  return { kind: 'differs', how: `at token ${at + 1}, ${quoted(text)} became ${shown}${byHowMuch(gap)}` };
}

const byHowMuch = (gap: number | undefined): string =>
  gap === undefined ? '' : `, though the next best was ${gap.toFixed(2)} nat behind`;

function compareVectors(before: readonly number[], after: readonly number[]): Comparison {
  const length = Math.hypot(...before);
  if (length === 0 || before.length === 0) return { kind: 'empty' };
  if (before.length !== after.length)
    return { kind: 'differs', how: `a vector of ${before.length} became one of ${after.length}` };
  const apart = Math.hypot(...before.map((value, at) => value - (after[at] ?? 0)));
  if (apart <= VECTOR_SHARE * length) return { kind: 'match' };
  return { kind: 'differs', how: `the vector moved by ${((100 * apart) / length).toFixed(1)} % of its length` };
}

const quoted = (text: string): string => JSON.stringify(text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}...`);
