import type { IncomingHttpHeaders } from 'node:http';
import type { Dialect, Refusal } from './envelope.ts';
import { modelInQuery, parseTarget } from './target.ts';

/** Where a request goes, as far as its head tells. */
export type Route =
  | {
      readonly kind: 'infer';
      readonly target: string;
      readonly dialect: Dialect;
      readonly named: Named;
      /** Whether it only looks at a model that is awake, and wakes none. */
      readonly looks: boolean;
      /** Set when an operator steers an engine; `checked`: its body decides whether he may. */
      readonly steers?: 'passed on' | 'checked';
    }
  | { readonly kind: 'moved'; readonly to: string; readonly dialect: Dialect }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly dialect: Dialect };

/**
 * Who says which model is meant. `body`, `form`: its JSON or its fields do; a name in the query may stand in for it.
 * `query`, `path`: nothing else is read.
 */
export type Named =
  | { readonly in: 'body' | 'form' | 'query'; readonly query: string | undefined }
  | { readonly in: 'path'; readonly name: string };

export type Head = { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders };

/** Inference outside `/v1`, by the engines' own names. */
export const INFERENCE: ReadonlySet<string> = new Set([
  'apply-template',
  'audio/speech',
  'audio/transcriptions',
  'audio/translations',
  'chat/completions',
  'classify',
  'completion',
  'completions',
  'detokenize',
  'embedding',
  'embeddings',
  'infill',
  'messages',
  'messages/count_tokens',
  'pooling',
  'rerank',
  'reranking',
  'responses',
  'score',
  'tokenize',
  'v2/embed',
  'v2/rerank',
]);

/** What tells of an engine. It is answered by one that is awake, for the sake of which none is woken. */
const TELLING = new Set(['metrics', 'props', 'slots']);

/** What changes an engine behind the back of the stage, by its first segment, under `/v1` or not. */
const ENGINE_CONTROL = new Set([
  'abort_request',
  'collective_rpc',
  'continue_generation',
  'flush_cache',
  'init_weight_transfer_engine',
  'load_lora_adapter',
  'lora-adapters',
  'pause',
  'pause_generation',
  'release_memory_occupation',
  'reset_encoder_cache',
  'reset_mm_cache',
  'reset_prefix_cache',
  'resume',
  'resume_memory_occupation',
  'scale_elastic_ep',
  'shutdown',
  'sleep',
  'slots',
  'start_profile',
  'stop_profile',
  'unload_lora_adapter',
  'update_weights',
  'update_weights_from_disk',
  'wake_up',
]);

/** What is read with GET and changes the engine with any other method. */
const READABLE = new Set(['lora-adapters', 'props', 'slots']);

/** Ours under `/v1`: never an engine's. */
const OURS = new Set(['admin', 'models']);

const FORM = /^\s*multipart\/form-data\s*(?:;|$)/i;
/** Bodies that are passed on unread. */
const UNREAD = /^\s*(?:(?:multipart|audio|image|video)\/|application\/octet-stream)/i;

/** Decides by the head alone. Pure; the control planes have been asked before. */
export function routeRequest({ method, url, headers }: Head): Route {
  const target = parseTarget(url);
  if (target === undefined) {
    const message = 'The path has an empty segment, dots or an escape that can be read in two ways. Write it plainly.';
    return refused('openai', 'invalid_request', message);
  }
  const { segments, query } = target;
  const inV1 = segments[0] === 'v1';
  const inner = inV1 ? segments.slice(1) : segments;
  const first = inner[0] ?? '';
  const dialect = first === 'messages' ? 'anthropic' : 'openai';
  const path = `/${segments.join('/')}`;

  if (TELLING.has(path.slice(1)) && isRead(method)) return routeLook(target.target, path, query);
  if (ENGINE_CONTROL.has(first)) {
    return refused(dialect, 'forbidden', `${path} controls an engine. Only catnap does that; ask it instead.`);
  }
  if (inV1 && first === 'v1') {
    return refused(dialect, 'not_found', `${path} has /v1 twice. Take it off the client's base URL, or off the path.`);
  }
  const known = INFERENCE.has(inner.join('/'));
  if (inV1 ? first === '' || OURS.has(first) : !known) {
    return refused(dialect, 'not_found', `There is nothing at ${method} ${path}. Inference is below /v1.`);
  }

  const named = modelInQuery(query);
  if (named === null) return refused(dialect, 'duplicate_model', 'The query names two models. Name one.', 'model');
  if (method === 'POST' || method === 'PUT' || method === 'PATCH') {
    const type = headers['content-type'] ?? '';
    if (FORM.test(type)) return infer(target.target, dialect, { in: 'form', query: named });
    if (!UNREAD.test(type)) return infer(target.target, dialect, { in: 'body', query: named });
    return infer(target.target, dialect, { in: 'query', query: named });
  }
  if (method === 'OPTIONS' || method === 'TRACE' || known) {
    const message = `${path} answers POST, not ${method}.`;
    return { kind: 'refused', dialect, refusal: { code: 'method_not_allowed', message, allow: 'POST' } };
  }
  if (named !== undefined) return infer(target.target, dialect, { in: 'query', query: named });
  const message = `There is nothing at ${method} ${path}. If a model is to answer it, add \`?model=NAME\`.`;
  return refused(dialect, 'not_found', message);
}

/** Where a WebSocket goes: its model can only be named in the query. */
export function routeUpgrade({ method, url, headers }: Head): Route {
  const target = parseTarget(url);
  if (target?.segments.at(-1) === 'responses') {
    const message = 'Responses are not served over WebSocket. Send the same request with POST over HTTP.';
    return refused('openai', 'websocket_unsupported', message);
  }
  if (method !== 'GET') {
    const message = 'A WebSocket is asked for with GET.';
    return { kind: 'refused', dialect: 'openai', refusal: { code: 'method_not_allowed', message, allow: 'GET' } };
  }
  const route = routeRequest({ method, url, headers });
  const nameless = route.kind === 'refused' && route.refusal.code === 'not_found' && target?.segments[0] === 'v1';
  if (!nameless || modelInQuery(target.query) !== undefined) return route;
  return refused('openai', 'model_missing', 'A WebSocket needs its model in the URL. Add `?model=NAME`.', 'model');
}

function routeLook(target: string, path: string, query: string): Route {
  const named = modelInQuery(query);
  if (named === undefined || named === null) {
    return refused('openai', 'model_missing', `${path} is about one model. Add \`?model=NAME\`.`, 'model');
  }
  return { kind: 'infer', target, dialect: 'openai', named: { in: 'query', query: named }, looks: true };
}

/** Whether a path of an engine's own, in its parts, changes it behind the back of the stage. */
export function controlsEngine(method: string, parts: readonly string[]): boolean {
  const first = (parts[0] === 'v1' ? parts[1] : parts[0]) ?? '';
  if (READABLE.has(first)) return !isRead(method);
  return ENGINE_CONTROL.has(first);
}

export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

const infer = (target: string, dialect: Dialect, named: Named): Route => ({
  kind: 'infer',
  target,
  dialect,
  named,
  looks: false,
});

export const refused = (dialect: Dialect, code: Refusal['code'], message: string, param?: string): Route => ({
  kind: 'refused',
  dialect,
  refusal: param === undefined ? { code, message } : { code, message, param },
});
