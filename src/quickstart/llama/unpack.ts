import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { runTool } from '../run-tool.ts';
import { Unavailable } from '../unavailable.ts';
import type { Workplace } from './apt.ts';
import { ElfError, isElf, withInterpreter, withOwnFolderAsLibraryPath } from './elf.ts';
import type { PackageSet } from './packages.ts';

const UNPACK_LIMIT_MS = 60_000;
const LOADER = 'ld-linux-x86-64.so.2';

/**
 * Unpacks downloaded packages and lays their executables and libraries side by side in one flat folder, patched to run
 * from `home`, where that folder is going to be. Flat, because llama-server looks for its processor-specific parts
 * beside itself; patched rather than started through the loader, because it starts itself again through /proc/self/exe.
 */
export async function unpackFlat(
  { folder, env, signal }: Workplace,
  { debs, set, home }: { readonly debs: readonly string[]; readonly set: PackageSet; readonly home: string },
): Promise<string> {
  const tree = join(folder, 'tree');
  const flat = join(folder, 'flat');
  await mkdir(tree);
  await mkdir(flat);
  for (const deb of debs) await runTool('dpkg-deb', ['-x', deb, tree], { env, limitMs: UNPACK_LIMIT_MS, signal });

  const libraries = await copyLibraries(tree, flat, set.libraryFolders);
  for (const library of libraries) await patchLibrary(join(flat, library));
  for (const executable of set.executables) {
    const source = join(tree, 'usr/bin', executable);
    if (!existsSync(source)) throw new Unavailable(`the packages hold no usr/bin/${executable}`);
    await copyExecutable(source, join(flat, executable), join(home, LOADER));
  }
  if (!libraries.includes(LOADER)) throw new Unavailable(`the packages hold no ${LOADER}`);
  await chmod(join(flat, LOADER), 0o755);
  await writeFile(join(flat, 'VERSIONS'), debs.map((deb) => `${basename(deb)}\n`).join(''));
  return flat;
}

/** Gives the names of the files; links to them are made anew, without their folders. */
async function copyLibraries(tree: string, flat: string, wanted: RegExp): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readdir(tree, { recursive: true, withFileTypes: true })) {
    if (!/\.so(\.\d+)*$/.test(entry.name) || !wanted.test(relative(tree, entry.parentPath))) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(flat, entry.name);
    if (entry.isSymbolicLink()) {
      await symlink(basename(await readlink(source)), target);
    } else if (entry.isFile()) {
      await copyFile(source, target);
      files.push(entry.name);
    }
  }
  return files;
}

async function patchLibrary(file: string): Promise<void> {
  // The loader and libc find nothing by a library path, and the loader must stay as it is.
  if (/^(ld-linux|libc\.so)/.test(basename(file))) return;
  const bytes = await readFile(file);
  if (!isElf(bytes)) return;
  const patched = patching(file, () => withOwnFolderAsLibraryPath(bytes));
  if (patched !== undefined) await writeFile(file, patched);
}

async function copyExecutable(source: string, target: string, loader: string): Promise<void> {
  const bytes = await readFile(source);
  const patched = patching(source, () => {
    const pathed = withOwnFolderAsLibraryPath(bytes);
    if (pathed === undefined) throw new ElfError('it names no library path that could be changed');
    return withInterpreter(pathed, loader);
  });
  await writeFile(target, patched, { mode: 0o755 });
}

function patching<T>(file: string, patch: () => T): T {
  try {
    return patch();
  } catch (error) {
    if (error instanceof ElfError) throw new Unavailable(`cannot make ${basename(file)} run here: ${error.message}`);
    throw error;
  }
}
