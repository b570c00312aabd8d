import { join } from 'node:path';
import { dependenciesAreCurrent, installDependencies } from './dependencies.mjs';
import { buildDist, distIsCurrent } from './dist.mjs';
import { interruptible } from './interrupt.mjs';
import { underLock } from './lock.mjs';

/**
 * Makes a checkout ready to run: node_modules as the lock file says, and, if asked for, dist as src says. Nothing to do costs
 * some milliseconds, touches no network and writes nothing.
 * @param {string} root
 * @param {{node: string, build: boolean}} terms
 */
export async function setUp(root, { node, build }) {
  const ready = () => dependenciesAreCurrent(root) && (!build || distIsCurrent(root));
  if (ready()) return;
  await interruptible((signal) =>
    underLock(join(root, '.cache/set-up.lock'), signal, async () => {
      if (!dependenciesAreCurrent(root)) await installDependencies(root, node, signal);
      if (build && !distIsCurrent(root)) await buildDist(root, node, signal);
    }),
  );
}
