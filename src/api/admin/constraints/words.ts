/** `a`, `a and b`, `a, b and c`. */
export function list(words: readonly string[], last: 'and' | 'or' = 'and'): string {
  const end = words.at(-1) ?? 'nothing';
  return words.length < 2 ? end : `${words.slice(0, -1).join(', ')} ${last} ${end}`;
}
