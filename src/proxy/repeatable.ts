import { INFERENCE, isRead } from './route.ts';
import { parseTarget } from './target.ts';

/** Of what is asked of models, this may store what it answers. */
const STORES = 'responses';

/**
 * Whether an engine that was cut off in the middle of this may be asked it again, and nobody could tell. What a path of an engine's own does,
 * nobody here can know.
 */
export function isRepeatable(method: string, path: string): boolean {
  if (isRead(method)) return true;
  const segments = parseTarget(path)?.segments ?? [];
  const inner = (segments[0] === 'v1' ? segments.slice(1) : segments).join('/');
  return method === 'POST' && inner !== STORES && INFERENCE.has(inner);
}
