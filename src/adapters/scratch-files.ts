import { randomUUID } from 'node:crypto';
import { chmodSync, constants, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { ScratchFile, ScratchFiles } from '../ports/scratch-files.ts';
import { codeOf } from './system-error.ts';

const OWNER_ONLY = 0o600;
/** Linux: a file that never has a name. Node does not know the flag, which is the same number on x64 and arm64 beside O_DIRECTORY. */
const NAMELESS = 0o20_000_000 | constants.O_DIRECTORY | constants.O_RDWR | constants.O_EXCL;
const NAMED = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;
/** What kernels and file systems say that cannot make one. */
const CANNOT = ['EISDIR', 'EOPNOTSUPP', 'ENOTSUP', 'EINVAL', 'ENOENT'];

/**
 * Files in a private folder, which is made if need be. Throws when it cannot be used.
 * The folder must be ours alone: what lies in it was left by one that was killed before it had taken the name away.
 */
export function scratchFiles(folder: string, { nameless = process.platform === 'linux' } = {}): ScratchFiles {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  return {
    create: async () => new OpenFile((nameless ? await openNameless(folder) : undefined) ?? (await openNamed(folder))),
  };
}

/** Undefined where there is no such thing. */
async function openNameless(folder: string): Promise<FileHandle | undefined> {
  try {
    return await open(folder, NAMELESS, OWNER_ONLY);
  } catch (error) {
    if (CANNOT.includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** Its name is gone before a byte is in it. */
async function openNamed(folder: string): Promise<FileHandle> {
  const path = join(folder, randomUUID());
  const handle = await open(path, NAMED, OWNER_ONLY);
  try {
    await unlink(path);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

class OpenFile implements ScratchFile {
  readonly #handle: FileHandle;
  #end = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async append(parts: readonly Buffer[]): Promise<void> {
    let left = parts;
    while (left.length > 0) {
      const { bytesWritten } = await this.#handle.writev(left, this.#end);
      this.#end += bytesWritten;
      left = without(left, bytesWritten);
    }
  }

  async read(into: Buffer, at: number): Promise<number> {
    let filled = 0;
    while (filled < into.length) {
      const { bytesRead } = await this.#handle.read(into, filled, into.length - filled, at + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  }

  async close(): Promise<void> {
    // Nothing of it is wanted any more, so there is nothing to be done about a failure.
    await this.#handle.close().catch(() => {});
  }
}

/** A disk that is nearly full may take less than it is given. */
function without(parts: readonly Buffer[], bytes: number): Buffer[] {
  let skip = bytes;
  const left: Buffer[] = [];
  for (const part of parts) {
    if (skip < part.length) left.push(part.subarray(skip));
    skip = Math.max(0, skip - part.length);
  }
  return left;
}
