import { existsSync, statSync } from 'node:fs';
import { codeOf } from './system-error.ts';

/** Why a program could not be started, in one line that names it and says what to change. */
export function whyNotStarted(program: string, cwd: string | undefined, error: unknown): string {
  if (cwd !== undefined && !isFolder(cwd)) return `cannot start ${program}: its folder ${cwd} does not exist`;
  switch (codeOf(error)) {
    case 'ENOENT':
      if (!program.includes('/')) return `cannot start ${program}: no program of this name is on PATH`;
      return existsSync(program)
        ? `cannot start ${program}: the interpreter named in its first line does not exist`
        : `cannot start ${program}: there is no such file`;
    case 'EACCES':
      return `cannot start ${program}: the file may not be executed; see its permissions`;
    case 'E2BIG':
      return `cannot start ${program}: its arguments and environment are too long for the system`;
    default:
      return `cannot start ${program}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
