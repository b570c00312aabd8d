import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path';
import type { Env } from '../cache-dir.ts';

/** The file that a shell would run for this command: a path as it stands, a bare name looked up in PATH. */
export async function findCommand(command: string, env: Env): Promise<string | undefined> {
  if (command.includes('/') || command.includes(sep)) return runnable(resolve(command));
  // Empty and relative entries are skipped: what they mean depends on the folder one happens to be in.
  for (const folder of (env['PATH'] ?? '').split(delimiter).filter((entry) => isAbsolute(entry))) {
    const found = await runnable(join(folder, command));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function runnable(path: string): Promise<string | undefined> {
  for (const file of platform() === 'win32' ? [path, `${path}.exe`] : [path]) {
    const good = await access(file, constants.X_OK)
      .then(() => stat(file))
      .then(
        (found) => found.isFile(),
        () => false,
      );
    if (good) return file;
  }
  return undefined;
}
