/** The `code` that Node gives to errors of the system: ENOENT, EADDRINUSE and their like. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT';

/** Whether the error says that a file of `/proc` belongs to a process that has ended, or to one of somebody else. */
export const isOutOfReach = (error: unknown): boolean =>
  ['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '');
