import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'vitest';
import { catnapCacheDir } from '../../../src/quickstart/cache-dir.ts';

const home = join(homedir(), '.cache', 'catnap');

test.for([
  [{ CATNAP_CACHE: '/own', XDG_CACHE_HOME: '/shared' }, '/own'],
  [{ CATNAP_CACHE: 'own' }, resolve('own')],
  [{ XDG_CACHE_HOME: '/shared' }, '/shared/catnap'],
  [{ CATNAP_CACHE: '', XDG_CACHE_HOME: '/shared' }, '/shared/catnap'],
  [{ XDG_CACHE_HOME: 'relative' }, home],
  [{}, home],
] as const)('with %j the cache is %s', ([env, folder], { expect }) => {
  expect(catnapCacheDir(env)).toBe(folder);
});
