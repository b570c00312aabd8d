import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { npmCi, whyNpmFailed } from './npm.mjs';
import { FAILED, Refusal, say } from './refusal.mjs';
import { hashOf, stampOf, writeStamp } from './stamp.mjs';
import { makeWhole } from './whole.mjs';

/**
 * npm records what lies in node_modules when an installation is complete. It is current when every package of the lock file is
 * there in the same version. What is for other platforms may be missing; what is for this one may be missing after an
 * installation of ours, which has tried: an installation by another Node leaves out what that Node could not run.
 * @param {string} root
 * @returns {boolean}
 */
export function dependenciesAreCurrent(root) {
  const record = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(record)) return false;
  const ours = stampOf(join(root, 'node_modules')) === hashOf(root, 'package-lock.json');
  const installed = packagesOf(record);
  return Object.entries(packagesOf(join(root, 'package-lock.json'))).every(([path, wanted]) => {
    const there = installed[path];
    if (path === '') return true;
    if (there === undefined) return wanted.optional === true && (ours || !isForThisPlatform(wanted));
    return there.version === wanted.version && there.integrity === wanted.integrity;
  });
}

/** @typedef {{version: string, integrity?: string, optional?: boolean, os?: string[], cpu?: string[], libc?: string[]}} LockedPackage */

/**
 * @param {string} lockFile
 * @returns {Record<string, LockedPackage>}
 */
function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages;
}

/** @param {LockedPackage} wanted */
function isForThisPlatform({ os, cpu, libc }) {
  return os?.includes(process.platform) && cpu?.includes(process.arch) && !libc?.includes('musl');
}

/**
 * Installs what the lock file says.
 * @param {string} root
 * @param {string} node
 * @param {AbortSignal} signal
 */
export async function installDependencies(root, node, signal) {
  say('installing dependencies, once');
  await makeWhole(join(root, 'node_modules'), async (temp) => {
    for (const file of ['package.json', 'package-lock.json', '.npmrc'])
      copyFileSync(join(root, file), join(temp, file));
    const npm = await npmCi(temp, node, signal);
    if (!npm.ok) throw new Refusal(`npm could not install the dependencies: ${whyNpmFailed(npm.output)}`, FAILED);
    writeStamp(join(temp, 'node_modules'), hashOf(temp, 'package-lock.json'));
    return join(temp, 'node_modules');
  });
}
