import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Gives back the memory of what nobody refers to any more. A process with nothing to do would keep it: it collects when it needs some. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') return;
  // As when memory runs out: pages that are empty then go back as well.
  Reflect.apply(collect, undefined, [{ type: 'major', execution: 'sync', flavor: 'last-resort' }]);
}
