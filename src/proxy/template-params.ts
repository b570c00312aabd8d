import type { Refusal } from './envelope.ts';
import type { Touch } from './rewrite.ts';

/** Where vLLM, SGLang and llama-server are told what the chat template of a model is to know. */
export const TEMPLATE_PARAMS = 'chat_template_kwargs';

/** What the client tells the template, and this on top of it. */
export function templateParams(
  values: ReadonlyMap<string, unknown>,
  more: Readonly<Record<string, unknown>>,
): Touch | Refusal {
  const said = values.get(TEMPLATE_PARAMS) ?? {};
  if (typeof said === 'object' && !Array.isArray(said)) {
    return { kind: 'set', json: JSON.stringify({ ...said, ...more }) };
  }
  return { code: 'invalid_request', message: `\`${TEMPLATE_PARAMS}\` must be an object.`, param: TEMPLATE_PARAMS };
}
