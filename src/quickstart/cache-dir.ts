import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/** What a program is told by those who start it. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Where things are kept that can be made or fetched again: an absolute path. */
export function catnapCacheDir(env: Env): string {
  const { CATNAP_CACHE: own, XDG_CACHE_HOME: shared } = env;
  if (own !== undefined && own !== '') return resolve(own);
  // The XDG rules ask for relative paths to be ignored.
  if (shared !== undefined && isAbsolute(shared)) return join(shared, 'catnap');
  return join(homedir(), '.cache', 'catnap');
}
