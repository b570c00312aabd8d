import type { IncomingHttpHeaders } from 'node:http';

/** In which official clients say for how many seconds they listen to nothing before they give up. */
const NAMES = ['x-stainless-read-timeout', 'x-stainless-timeout'] as const;
/** How much sooner they get an answer, so that it is still heard. */
const MARGIN = 0.1;
const MOST_MARGIN_MS = 1_000;

/** For how long this client may be left without an answer; undefined where it does not say. */
export function silenceOf(headers: IncomingHttpHeaders): number | undefined {
  const limits = NAMES.map((name) => Number(headers[name]) * 1_000).filter((ms) => ms > 0 && Number.isFinite(ms));
  if (limits.length === 0) return undefined;
  const ms = Math.min(...limits);
  return ms - Math.min(MARGIN * ms, MOST_MARGIN_MS);
}
