import { createHash } from 'node:crypto';

/** A file name that shows the engine's name and is no other engine's, whatever characters or length the model's name has. */
export function engineFileName(engine: string): string {
  const shown = engine
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 60);
  return `${shown === '' ? 'engine' : shown}.${createHash('sha256').update(engine).digest('hex').slice(0, 8)}`;
}
