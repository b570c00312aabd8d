import { text } from 'node:stream/consumers';

/** What a command writes to and knows of the world. */
export interface Terminal {
  /** What was asked for. */
  out(text: string): void;
  /** What went wrong. */
  err(text: string): void;
  /** All that is written to us, to its end. */
  in(): Promise<string>;
  /** Whether `out` may be coloured. */
  readonly colour: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The script that has started this process. */
  readonly launcher?: string | undefined;
}

export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  // `catnap status | head -1` closes the pipe before we are done, which is no failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return {
    out: (line) => stdout.write(line),
    err: (line) => stderr.write(line),
    in: () => text(stdin),
    colour: stdout.isTTY && !env['NO_COLOR'],
    env,
  };
}
