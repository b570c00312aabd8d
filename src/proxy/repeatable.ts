import { isRead } from './route.ts';
import { parseTarget } from './target.ts';

/**
 * Questions that leave nothing behind but their answer, with `/v1` before them or not, by what engines say of them. `responses` is not among
 * them: it may store what it answers. Nor is anything that is not listed: what a path of an engine's own does, nobody here can know.
 */
const PURE: ReadonlySet<string> = new Set([
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
  'score',
  'tokenize',
  'v2/embed',
  'v2/rerank',
]);

/** Whether an engine that was cut off in the middle of this may be asked it again, and nobody could tell. */
export function isRepeatable(method: string, path: string): boolean {
  if (isRead(method)) return true;
  const segments = parseTarget(path)?.segments ?? [];
  const inner = segments[0] === 'v1' ? segments.slice(1) : segments;
  return method === 'POST' && PURE.has(inner.join('/'));
}
