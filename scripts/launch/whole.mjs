import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { FAILED, Refusal } from './refusal.mjs';

const ABANDONED_MS = 60 * 60_000;

/**
 * Makes a folder beside its place and moves it there when it is complete, so that nobody ever meets half of it, however we end.
 * @param {string} target
 * @param {(temp: string) => Promise<string>} build  works in an empty folder and gives the complete one, which lies in it or is it
 */
export async function makeWhole(target, build) {
  mkdirSync(dirname(target), { recursive: true });
  sweep(target);
  const temp = `${target}.tmp-${randomBytes(6).toString('hex')}`;
  const old = `${temp}-old`;
  try {
    mkdirSync(temp);
    const made = await build(temp);
    if (existsSync(target)) renameSync(target, old);
    renameSync(made, target);
  } catch (error) {
    if (!existsSync(target) && existsSync(old)) renameSync(old, target);
    throw error instanceof Error && 'syscall' in error
      ? new Refusal(`${target} cannot be replaced: ${error.message}`, FAILED, { cause: error })
      : error;
  } finally {
    rmSync(temp, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}

/**
 * Removes what a launcher that was killed left beside the target.
 * @param {string} target
 */
function sweep(target) {
  for (const name of readdirSync(dirname(target))) {
    const path = join(dirname(target), name);
    if (!name.startsWith(`${basename(target)}.tmp-`)) continue;
    const seen = statSync(path, { throwIfNoEntry: false });
    if (seen !== undefined && Date.now() - seen.mtimeMs > ABANDONED_MS) rmSync(path, { recursive: true, force: true });
  }
}
