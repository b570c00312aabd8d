/** Whether a name has the form of a pattern in which each `*` stands for any text. Takes time in proportion to the two, whatever they are. */
export function fitsPattern(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** Of two patterns the more telling one comes first: the one with more text in it. */
export const moreTelling = (a: string, b: string): number => told(b) - told(a);

const told = (pattern: string): number => pattern.replaceAll('*', '').length;
