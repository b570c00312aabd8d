import type { Params } from '../config/catalogue.ts';
import type { Rewrite, Touch } from '../proxy/rewrite.ts';

/** What a model and the name it was asked for under make of a request's parameters. The name has the last word. */
export function rewriteOf(model: Params, name: Params | undefined): Rewrite | undefined {
  const touches = new Map<string, Touch>();
  for (const { set_params, strip_params, default_params } of name === undefined ? [model] : [model, name]) {
    for (const key of strip_params) touches.set(key, { kind: 'strip' });
    for (const [key, value] of Object.entries(default_params)) {
      // What is taken out first is missing in every request.
      const kind = touches.get(key)?.kind === 'strip' ? 'set' : 'default';
      touches.set(key, { kind, json: JSON.stringify(value) });
    }
    for (const [key, value] of Object.entries(set_params))
      touches.set(key, { kind: 'set', json: JSON.stringify(value) });
  }
  return touches.size === 0 ? undefined : touches;
}
