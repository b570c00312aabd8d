/** What the system said about a file or folder: no right, no room, no such place. Undefined for any other error. */
export function fileTrouble(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error && 'path' in error ? error.message : undefined;
}
