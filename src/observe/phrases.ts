import { engineId, type EngineId, type ModelId } from '../core/kinds.ts';

/** How things read in a log line. */

/** A duration the way a person says it: `84 ms`, `1.2 s`, `45 s`, `2 min 5 s`. */
export function span(ms: number): string {
  if (!Number.isFinite(ms)) return 'for ever';
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const secs = Math.round(ms / 1_000);
  if (secs < 60) return `${secs} s`;
  const rest = secs % 60;
  return rest === 0 ? `${secs / 60} min` : `${(secs - rest) / 60} min ${rest} s`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `alpha`, `alpha and beta`, `alpha, beta and gamma`. */
export function list(names: readonly string[]): string {
  const last = names.at(-1) ?? 'nobody';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}

/** The first engine of a model goes by the model's name; its further replicas by their own. */
export function engineName(engine: EngineId, model: ModelId): string {
  return engine === engineId(model, 0) ? model : engine;
}

// Everything that moves a terminal's cursor or starts an escape sequence.
// oxlint-disable-next-line no-control-regex -- these are the characters that are looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** One line with nothing in it that a terminal would act on, whoever wrote it. */
export function plain(text: string): string {
  return text.replace(CONTROL, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** A request's path for a log: without the query, which may hold a key, and not longer than a line should be. */
export function shownPath(path: string): string {
  const [bare = ''] = path.split('?', 1);
  return bare.length <= 120 ? bare : `${bare.slice(0, 117)}...`;
}
