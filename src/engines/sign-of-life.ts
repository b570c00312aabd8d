import type { EngineHttp } from '../ports/engine-http.ts';

/** A caller's signal ends the question sooner; this only keeps a forgotten one from lasting. */
export const LONGEST_QUESTION_MS = 600_000;

export type Question = {
  readonly http: EngineHttp;
  readonly origin: string;
  readonly servedName: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

/**
 * Asks for the least work a model can do: one token, or one vector from a model that only gives those.
 * `done`: it did it. `silent`: it took the request and nothing came. `cannot-tell`: it has no route for such work.
 */
export async function leastWork(question: Question): Promise<'done' | 'silent' | 'cannot-tell'> {
  const { http, origin, servedName: model, headers, signal } = question;
  const asks = [
    { path: '/v1/completions', json: { model, prompt: 'a', max_tokens: 1, cache_prompt: false } },
    { path: '/v1/chat/completions', json: { model, messages: [{ role: 'user', content: 'a' }], max_tokens: 1 } },
    { path: '/v1/embeddings', json: { model, input: 'a' } },
  ];
  for (const { path, json } of asks) {
    const limitMs = LONGEST_QUESTION_MS;
    const answer = await http.call({ method: 'POST', url: origin + path, headers, json, limitMs, signal });
    if (answer.kind !== 'answered') return 'silent';
    if (answer.status < 300) return 'done';
    if (!NOT_ITS_WORK.includes(answer.status)) return 'silent';
  }
  return 'cannot-tell';
}

/** A server that does not offer this kind of work says so with one of these, without asking its model. */
const NOT_ITS_WORK: readonly number[] = [400, 404, 405, 415, 422, 501];
