import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const MIB = 1_024;

/** What a process holds in memory now, and what it held at most, in MiB. */
export function memoryOf(pid: number): { readonly now: number; readonly most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return { now: kib('VmRSS') / MIB, most: kib('VmHWM') / MIB };
}

/** The files below a folder that a process has open, by where they are or were. */
export function openFiles(pid: number, folder: string): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/${pid}/fd/${fd}`);
      return path.startsWith(folder) ? [path] : [];
    } catch {
      return []; // it was closed meanwhile
    }
  });
}
