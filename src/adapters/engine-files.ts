import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EngineFiles } from '../ports/engine-files.ts';
import { engineFileName } from './engine-file-name.ts';

/** One folder for each engine, below one that is ours alone. */
export function engineFiles(folder: string): EngineFiles {
  return {
    async put(engine, files) {
      const own = join(folder, engineFileName(engine));
      try {
        await rm(own, { recursive: true, force: true });
        await mkdir(own, { recursive: true, mode: 0o700 });
        for (const each of [folder, own]) await chmod(each, 0o700);
        for (const [name, text] of Object.entries(files))
          await writeFile(join(own, name), text, { mode: 0o600, flag: 'wx' });
      } catch (error) {
        throw new Error(`the folder ${own} (state_dir) cannot be written: ${String(error)}`, { cause: error });
      }
      return own;
    },
  };
}
