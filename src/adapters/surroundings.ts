import { constants } from 'node:fs';
import { access, readFile, stat, statfs } from 'node:fs/promises';
import { freemem, release, totalmem, type } from 'node:os';
import { dirname } from 'node:path';
import { lockFolder } from './folder-lock.ts';

const MIB = 1_048_576;

export const systemName = (): string => `${type()} ${release()} ${process.arch}`;

type Memory = {
  readonly totalMib: number;
  readonly availableMib: number;
  readonly groupLimitMib: number | undefined;
  readonly openFiles: number | undefined;
  readonly processNumbers: number | undefined;
};

/** Main memory, and how much of it and of files this process may have. */
export async function memoryOfMachine(): Promise<Memory> {
  const [meminfo, group, limits, numbers] = await Promise.all([
    textOf('/proc/meminfo'),
    textOf('/sys/fs/cgroup/memory.max'),
    textOf('/proc/self/limits'),
    textOf('/proc/sys/kernel/pid_max'),
  ]);
  const available = /^MemAvailable:\s+(\d+) kB/m.exec(meminfo)?.[1];
  const files = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  const limit = /^\d+/.exec(group)?.[0];
  return {
    totalMib: Math.round(totalmem() / MIB),
    availableMib: Math.round(available === undefined ? freemem() / MIB : Number(available) / 1_024),
    groupLimitMib: limit === undefined ? undefined : Math.round(Number(limit) / MIB),
    openFiles: files === undefined ? undefined : Number(files),
    processNumbers: numbers === '' ? undefined : Number(numbers),
  };
}

/** How much may still be written where this folder is or would be. */
export async function roomIn(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(await nearestThere(folder));
    return Math.round((bavail * bsize) / MIB);
  } catch {
    return undefined;
  }
}

/** Whether a folder could be ours: what is wrong with it, or who has it now. Nothing is made. */
export async function folderState(
  folder: string,
): Promise<{ readonly fault: string | undefined; readonly heldBy: string | undefined }> {
  const there = await nearestThere(folder);
  try {
    if (!(await stat(there)).isDirectory()) return { fault: `${there} is no folder`, heldBy: undefined };
    await access(there, constants.W_OK | constants.X_OK);
  } catch {
    return { fault: `we may not write to ${there}`, heldBy: undefined };
  }
  if (there !== folder) return { fault: undefined, heldBy: undefined };
  try {
    const unlock = await lockFolder(folder);
    await unlock();
    return { fault: undefined, heldBy: undefined };
  } catch (error) {
    const [, by] = /in use by ([^;]+)/.exec(error instanceof Error ? error.message : '') ?? [];
    return { fault: by === undefined ? String(error) : undefined, heldBy: by && `in use by ${by}` };
  }
}

/** The folder itself, or the nearest above it that is there. */
async function nearestThere(folder: string): Promise<string> {
  for (let path = folder; ; path = dirname(path)) {
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined || dirname(path) === path) return path;
  }
}

const textOf = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '');
