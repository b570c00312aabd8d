import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json: a checkout, an installed package or an image. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** Only a checkout has what it takes to build; an installed package comes built. */
export function isCheckout() {
  return existsSync(join(ROOT, 'tsconfig.build.json'));
}

/**
 * Where fetched things are kept between runs; the same folder that the product uses.
 * @param {Readonly<Record<string, string | undefined>>} env
 */
export function cacheFolder(env = process.env) {
  if (env['CATNAP_CACHE']) return resolve(env['CATNAP_CACHE']);
  const base = env['XDG_CACHE_HOME'];
  return join(base && isAbsolute(base) ? base : join(homedir(), '.cache'), 'catnap');
}
