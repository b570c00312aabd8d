/** The one of `words` that was probably meant, or undefined when none is near. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  let best: { readonly word: string; readonly far: number } | undefined;
  for (const candidate of words) {
    if (Math.abs(candidate.length - word.length) > limit) continue;
    const far = distance(word.toLowerCase(), candidate.toLowerCase());
    if (far <= limit && (best === undefined || far < best.far)) best = { word: candidate, far };
  }
  return best?.word;
}

/** How many letters must be put in, taken out, changed or swapped with their neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const next = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      next[column] = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = next;
  }
  return last[b.length] ?? 0;
}
