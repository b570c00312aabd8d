import { createHash } from 'node:crypto';
import { readFileSync, watch, type FSWatcher } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { after, type Millis } from '../core/kinds.ts';
import type { Cancel, Clock } from '../ports/clock.ts';

/** What was written must be the same for so long: editors and copies write in several steps. */
const QUIET_MS = 100;
/** Not every file system tells of changes, and a folder that is replaced tells of none any more. */
const LOOK_ANYWAY_MS = 5_000;

type Watching = {
  /** Also those that are not there, and may come. */
  readonly files: readonly string[];
  readonly clock: Clock;
  /** The content of the files is another one, and has been for a moment. */
  readonly changed: () => void;
};

/**
 * Watches what is in some files. It looks at their content, so that it does not matter how it came to be there: written in place, put there
 * under another name, or by a link that was turned. That a folder tells of a change only says when to look.
 */
export function watchConfig({ files, clock, changed }: Watching): Cancel {
  // At once, so that whatever is written from now on is noticed.
  let known = digest(files);
  let seen = known;
  let timer: { readonly at: Millis; readonly cancel: Cancel } | undefined;
  let looking = false;
  let stopped = false;
  const folders = new Map<string, FSWatcher>();

  const lookIn = (ms: number): void => {
    const at = after(clock.now(), ms);
    if (stopped || (timer !== undefined && timer.at <= at)) return;
    timer?.cancel();
    timer = { at, cancel: clock.at(at, () => void look()) };
  };
  const look = async (): Promise<void> => {
    timer = undefined;
    if (looking) return;
    looking = true;
    await follow();
    const found = digest(files);
    looking = false;
    if (stopped) return;
    const isNew = found !== known;
    const isQuiet = found === seen;
    seen = found;
    if (isNew && isQuiet) {
      known = found;
      changed();
    }
    lookIn(isNew && !isQuiet ? QUIET_MS : LOOK_ANYWAY_MS);
  };
  /** A file may be a link into another folder. */
  const follow = async (): Promise<void> => {
    const real = await Promise.all(files.map((file) => realpath(file).catch(() => file)));
    const wanted = new Set([...files, ...real].map((file) => dirname(file)));
    for (const [folder, watcher] of folders) if (!wanted.has(folder)) drop(folder, watcher);
    for (const folder of wanted) if (!folders.has(folder) && !stopped) listen(folder);
  };
  const drop = (folder: string, watcher: FSWatcher): void => {
    folders.delete(folder);
    watcher.close();
  };
  const listen = (folder: string): void => {
    try {
      const watcher = watch(folder, { persistent: false }, () => lookIn(QUIET_MS));
      folders.set(folder, watcher);
      watcher.on('error', () => drop(folder, watcher));
    } catch {
      // There is no such folder, or there are no watches left: then it is looked at anyway.
    }
  };
  void look();
  return () => {
    stopped = true;
    timer?.cancel();
    for (const [folder, watcher] of folders) drop(folder, watcher);
  };
}

/** Configs are small. */
function digest(files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) {
    const bytes = contentOf(file);
    hash.update(bytes === undefined ? 'gone;' : `${bytes.length};`).update(bytes ?? '');
  }
  return hash.digest('hex');
}

function contentOf(file: string): Uint8Array | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined; // it is not there, or may not be read: whoever reads the config says so
  }
}
