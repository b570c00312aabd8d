import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Program, Programs } from '../ports/programs.ts';
import { inheritedFrom } from './engine-env.ts';

/** Finds programs on the PATH that engines get, so that what is asked for its flags is what will be started. */
export function systemPrograms(environment: Readonly<Record<string, string | undefined>>): Programs {
  const folders = (inheritedFrom(environment)['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return {
    async find(command) {
      const places = command.includes('/') ? [command] : folders.map((folder) => join(folder, command));
      for (const place of places) {
        const program = await executable(place);
        if (program !== undefined) return program;
      }
      return undefined;
    },
  };
}

/** Undefined when it is not there or not for us to run: another folder of the PATH may have one that is. */
async function executable(place: string): Promise<Program | undefined> {
  try {
    await access(place, constants.X_OK);
    const path = await realpath(place);
    const file = await stat(path);
    return file.isFile() ? { path, mark: `${file.ino} ${file.size} ${file.mtimeMs}` } : undefined;
  } catch {
    return undefined;
  }
}
