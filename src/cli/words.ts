/** A duration the way a person says it: `84 ms`, `1.2 s`, `12 s`, `3 min`, `2 h`, `5 days`. */
export function duration(secs: number): string {
  if (secs < 0.9995) return `${Math.round(secs * 1_000)} ms`;
  if (secs < 9.95) return `${secs.toFixed(1)} s`;
  if (secs < 59.5) return `${Math.round(secs)} s`;
  if (secs < 3_570) return `${Math.round(secs / 60)} min`;
  if (secs < 47.5 * 3_600) return `${Math.round(secs / 3_600)} h`;
  return `${Math.round(secs / 86_400)} days`;
}

/** `alpha`, `alpha and beta`, `alpha, beta and gamma`. */
export function list(names: readonly string[]): string {
  const last = names.at(-1) ?? 'nobody';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}

// Everything that moves a terminal's cursor or starts an escape sequence.
// oxlint-disable-next-line no-control-regex -- these are the characters that are looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** Text from elsewhere on one line, with nothing in it that a terminal would act on. */
export const plain = (text: string): string => text.replace(CONTROL, ' ');
