import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { dependenciesAreCurrent, installDependencies } from './dependencies.mjs';
import { buildDist, distIsCurrent } from './dist.mjs';
import { interruptible } from './interrupt.mjs';
import { underLock } from './lock.mjs';
import { FAILED, Refusal } from './refusal.mjs';

/**
 * Makes a checkout ready to run: node_modules as the lock file says, and, if asked for, dist as src says. Nothing to do costs
 * some milliseconds, touches no network and writes nothing.
 * @param {string} root
 * @param {{node: string, build: boolean}} terms
 */
export async function setUp(root, { node, build }) {
  const ready = () => dependenciesAreCurrent(root) && (!build || distIsCurrent(root));
  if (ready()) return;
  try {
    await interruptible((signal) =>
      underLock(join(root, '.cache/set-up.lock'), signal, async () => {
        if (!dependenciesAreCurrent(root)) await installDependencies(root, node, signal);
        if (build && !distIsCurrent(root)) await buildDist(root, node, signal);
      }),
    );
  } catch (error) {
    throw denied(root, error) ?? error;
  }
}

const DENIED = ['EACCES', 'EPERM', 'EROFS'];

/**
 * That this user may not set up the checkout, which others may, and what to change.
 * @param {string} root
 * @param {unknown} error
 * @param {number | undefined} user
 * @returns {Refusal | undefined}
 */
export function denied(root, error, user = process.getuid?.()) {
  const why = error instanceof Refusal ? error.cause : error;
  if (!(why instanceof Error) || !('code' in why) || !('path' in why)) return undefined;
  const { code, path, message } = why;
  if (typeof path !== 'string' || !DENIED.includes(String(code))) return undefined;
  const folder = dirname(path);
  const owner = statSync(folder, { throwIfNoEntry: false })?.uid;
  const others = owner !== undefined && owner !== user && code !== 'EROFS';
  const fix = others
    ? `Run "npm run build" there as user ${owner}, who owns ${folder}, or let user ${user} write to it.`
    : `Make ${folder} writable, and start again.`;
  return new Refusal(`${root} has to be set up, and user ${user} may not: ${message}. ${fix}`, FAILED, { cause: why });
}
