import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const DRAFT = '.draft-';
/** A draft this much older than a new one was left by somebody who did not live to finish it. */
const STALE_MS = 60 * 60 * 1000;
const TRIES = 3;

/** Runs `work` with a new folder beside what is to be published, and leaves nothing of that folder behind. */
export async function withDraft<T>(shelf: string, work: (draft: string) => Promise<T>): Promise<T> {
  await mkdir(shelf, { recursive: true });
  const draft = await mkdtemp(join(shelf, DRAFT));
  try {
    await removeStale(shelf, draft);
    return await work(draft);
  } finally {
    // A tool that was just told to stop may write a last file while the folder is being emptied.
    await rm(draft, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

/**
 * Puts a finished folder at its place in one step. When another process was faster and its folder is good, that one
 * stays; a folder that is not good is moved into the draft and goes away with it.
 */
export async function publish(
  finished: string,
  place: string,
  draft: string,
  isGood: () => Promise<boolean>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rename(finished, place);
    } catch (error) {
      if (attempt === TRIES || !isTaken(error)) throw error;
    }
    if (await isGood()) return;
    await rename(place, join(draft, `replaced-${attempt}`)).catch((error: unknown) => {
      // Somebody else took it away first.
      if (!hasCode(error, 'ENOENT')) throw error;
    });
  }
}

async function removeStale(shelf: string, newest: string): Promise<void> {
  const { mtimeMs: now } = await stat(newest);
  for (const name of await readdir(shelf)) {
    if (!name.startsWith(DRAFT)) continue;
    const folder = join(shelf, name);
    const age = await stat(folder).then(
      ({ mtimeMs }) => now - mtimeMs,
      () => 0,
    );
    if (age > STALE_MS) await rm(folder, { recursive: true, force: true });
  }
}

const isTaken = (error: unknown): boolean => hasCode(error, 'ENOTEMPTY') || hasCode(error, 'EEXIST');

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
