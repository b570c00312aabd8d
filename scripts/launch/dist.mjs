import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runQuietly } from './child.mjs';
import { FAILED, Refusal, say } from './refusal.mjs';
import { hashOf, stampOf, writeStamp } from './stamp.mjs';
import { makeWhole } from './whole.mjs';

const BUILD_LIMIT_MS = 5 * 60_000;

/**
 * Whether dist was built from the sources as they are.
 * @param {string} root
 * @returns {boolean}
 */
export function distIsCurrent(root) {
  return stampOf(join(root, 'dist')) === fingerprint(root);
}

/**
 * Builds dist from src.
 * @param {string} root
 * @param {string} node
 * @param {AbortSignal} signal
 */
export async function buildDist(root, node, signal) {
  say('building');
  await makeWhole(join(root, 'dist'), async (temp) => {
    const builtFrom = fingerprint(root);
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const command = /** @type {const} */ ([node, tsc, '--project', 'tsconfig.build.json', '--outDir', temp]);
    const { ok, output } = await runQuietly(command, { cwd: root, signal, limitMs: BUILD_LIMIT_MS });
    if (!ok) throw new Refusal(`the sources do not build:\n${output.trim()}`, FAILED);
    writeStamp(temp, builtFrom);
    return temp;
  });
}

/**
 * All that a build depends on: names and contents of the sources, the compiler and its settings.
 * @param {string} root
 */
function fingerprint(root) {
  const names = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = names.filter((name) => name.endsWith('.ts')).map((name) => join('src', name));
  return hashOf(root, 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json', ...sources.sort());
}
