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

/** What a model says to a fixed question, without chance; undefined when it says nothing or is none that writes text. */
export async function sampleText({ http, origin, servedName, headers, signal }: Question): Promise<string | undefined> {
  const json = { model: servedName, prompt: 'The capital of France is', max_tokens: 8, temperature: 0 };
  const limitMs = LONGEST_QUESTION_MS;
  const url = `${origin}/v1/completions`;
  const answer = await http.call({ method: 'POST', url, headers, json, limitMs, signal });
  if (answer.kind !== 'answered' || answer.status >= 300) return undefined;
  try {
    const said: unknown = JSON.parse(answer.body);
    return textOf(said);
  } catch {
    return undefined;
  }
}

function textOf(said: unknown): string | undefined {
  if (typeof said !== 'object' || said === null || !('choices' in said) || !Array.isArray(said.choices))
    return undefined;
  const first: unknown = said.choices[0];
  const text: unknown = typeof first === 'object' && first !== null && 'text' in first ? first.text : undefined;
  return typeof text === 'string' ? text : undefined;
}

/** A server that does not offer this kind of work says so with one of these, without asking its model. */
const NOT_ITS_WORK: readonly number[] = [400, 404, 405, 415, 422, 501];
