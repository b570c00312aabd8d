import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runQuietly } from './child.mjs';
import { cacheFolder, ROOT } from './folders.mjs';
import { Interrupted, interruptible } from './interrupt.mjs';
import { underLock } from './lock.mjs';
import { npmCi, whyNpmFailed } from './npm.mjs';
import { NODE_TOO_OLD, Refusal, say } from './refusal.mjs';
import { satisfies } from './version.mjs';
import { makeWhole } from './whole.mjs';

/**
 * The Node to run on: this one where package.json's `engines` allows it, else one that was fetched earlier, else one fetched now.
 * @param {string} running
 * @returns {Promise<string>}
 */
export async function findNode(running = process.version) {
  const wanted = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).engines.node;
  if (satisfies(running, wanted)) return process.execPath;
  const needs = `catnap needs Node ${wanted} and this is ${running}`;
  const carried = join(ROOT, 'scripts/node', `${process.platform}-${process.arch}`);
  if (!existsSync(carried)) {
    throw new Refusal(
      `${needs}; install a newer Node, there is none to fetch for ${process.platform} on ${process.arch}.`,
      NODE_TOO_OLD,
    );
  }
  const { name, version } = pinned(carried);
  const home = join(cacheFolder(), 'node', `${version}-${process.platform}-${process.arch}`);
  const node = join(home, 'node_modules', name, 'bin/node');
  if (existsSync(node)) return node;
  const fetchUnlessThere = async (/** @type {AbortSignal} */ signal) => {
    if (existsSync(node)) return;
    say(`this is Node ${running}; fetching Node ${version} into ${home}, once`);
    await fetchNode({ carried, home, name, version }, signal);
  };
  try {
    await interruptible((signal) => underLock(`${home}.lock`, signal, () => fetchUnlessThere(signal)));
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new Refusal(
      `${needs}; fetching ${version} failed (${why}). Install a newer Node, or go online and try again.`,
      NODE_TOO_OLD,
    );
  }
  return node;
}

/**
 * The one package that a carried folder pins.
 * @param {string} carried
 * @returns {{name: string, version: string}}
 */
function pinned(carried) {
  const [entry] = Object.entries(JSON.parse(readFileSync(join(carried, 'package.json'), 'utf8')).dependencies);
  if (entry === undefined) throw new Error(`${carried}/package.json pins nothing`);
  return { name: entry[0], version: String(entry[1]) };
}

/**
 * @param {{carried: string, home: string, name: string, version: string}} what
 * @param {AbortSignal} signal
 */
async function fetchNode({ carried, home, name, version }, signal) {
  await makeWhole(home, async (temp) => {
    cpSync(carried, temp, { recursive: true });
    const npm = await npmCi(temp, process.execPath, signal);
    if (!npm.ok) throw new Refusal(whyNpmFailed(npm.output), NODE_TOO_OLD);
    const program = join(temp, 'node_modules', name, 'bin/node');
    const { output } = await runQuietly([program, '--version'], { cwd: temp, signal, limitMs: 30_000 });
    if (output.trim() !== `v${version}`) throw new Refusal(`it does not run here: ${output.trim()}`, NODE_TOO_OLD);
    return temp;
  });
}
