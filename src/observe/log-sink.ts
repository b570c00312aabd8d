import pino from 'pino';

/** Where log lines go. */
export interface LogSink {
  write(line: string): void;
  /** How many lines were given up since the last call because nobody read them. */
  takeLost(): number;
}

/** How much of the log is kept when nobody reads stderr. */
const MOST_BYTES = 4 * 1_048_576;

/**
 * Stderr. A terminal is written to at once; anything else in the background, so that a pipe nobody reads
 * holds nothing up: beyond a bound its lines are dropped and counted. What is left is written at the end of the process.
 */
export function stderrSink(tty: boolean): LogSink {
  const stream = pino.destination({ dest: 2, sync: tty, maxLength: MOST_BYTES });
  let lost = 0;
  stream.on('drop', () => {
    lost += 1;
  });
  return {
    write(line) {
      stream.write(line);
    },
    takeLost() {
      const count = lost;
      lost = 0;
      return count;
    },
  };
}
