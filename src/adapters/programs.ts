import { accessSync, constants, realpathSync, statSync } from 'node:fs';
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
        const program = executable(place);
        if (program !== undefined) return program;
      }
      return undefined;
    },
  };
}

/**
 * Undefined when it is not there or not for us to run: another folder of the PATH may have one that is. Asked several times in a swap, so it does not
 * wait for its turn among other reads; a folder that hangs would hold the start of the program up just the same.
 */
function executable(place: string): Program | undefined {
  try {
    const file = statSync(place, { throwIfNoEntry: false });
    if (file?.isFile() !== true) return undefined;
    accessSync(place, constants.X_OK);
    return { path: realpathSync(place), mark: `${file.ino} ${file.size} ${file.mtimeMs}` };
  } catch {
    return undefined;
  }
}
