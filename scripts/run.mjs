// Runs a tool or a script of this checkout on a Node that is new enough: `node scripts/run.mjs [--built] vitest run`.
// With --built, dist is brought up to date first. Node 22 calls the type stripping that our scripts use experimental.
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { becomeChild } from './launch/child.mjs';
import { setUp } from './launch/checkout.mjs';
import { ROOT } from './launch/folders.mjs';
import { findNode } from './launch/node.mjs';
import { FAILED, orRefuse, Refusal } from './launch/refusal.mjs';

await orRefuse(async () => {
  const build = process.argv[2] === '--built';
  const [target, ...args] = process.argv.slice(build ? 3 : 2);
  const node = await findNode();
  await setUp(ROOT, { node, build });
  if (target !== undefined) await becomeChild(node, ['--disable-warning=ExperimentalWarning', locate(target), ...args]);
});

/**
 * A script of ours by its path, or a tool by its name.
 * @param {string} target
 */
function locate(target) {
  const path = join(ROOT, target.includes('/') ? target : `node_modules/.bin/${target}`);
  if (!existsSync(path)) throw new Refusal(`there is no ${path}.`, FAILED);
  return realpathSync(path);
}
