import { unreachable } from '../core/kinds.ts';
import type { EngineAnswer } from '../ports/engine-http.ts';

/** What answers to control calls of engines say. */

const LONGEST = 300;

/** Why a call went wrong, in one line. */
export function failedCall(answer: EngineAnswer, limitMs?: number): string {
  switch (answer.kind) {
    case 'answered':
      return `it answered ${answer.status}${saidIn(answer.body)}`;
    case 'refused':
      return `the connection failed: ${answer.reason}`;
    case 'timeout':
      return limitMs === undefined ? 'it did not answer in time' : `it did not answer within ${limitMs / 1_000} s`;
    default:
      return unreachable(answer);
  }
}

function saidIn(body: string): string {
  const error = parsed(body)?.['error'];
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
  const said = (typeof message === 'string' ? message : body).replaceAll(/\s+/g, ' ').trim();
  return said === '' ? '' : `: ${said.slice(0, LONGEST)}`;
}

/** One field of a JSON answer; undefined when there is none. */
export function fieldOf(answer: EngineAnswer, name: string): unknown {
  return answer.kind === 'answered' && answer.status === 200 ? parsed(answer.body)?.[name] : undefined;
}

function parsed(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
