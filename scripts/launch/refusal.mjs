/** Node too old and no other to be had: sysexits' EX_CONFIG. */
export const NODE_TOO_OLD = 78;
/** What was asked for could not be done. */
export const FAILED = 1;

/** Why catnap cannot be launched: a sentence for a person, and the exit code. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {number} exitCode
   * @param {ErrorOptions} [options]
   */
  constructor(message, exitCode, options) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/**
 * Says what is being done, on stderr: stdout belongs to what is launched.
 * @param {string} line
 */
export function say(line) {
  process.stderr.write(`catnap: ${line}\n`);
}

/**
 * Runs a launcher to its end; a refusal becomes its sentence and its exit code, anything else is our bug and shows its stack.
 * @param {() => Promise<void>} launch
 */
export async function orRefuse(launch) {
  try {
    await launch();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say(error.message);
    process.exitCode = error.exitCode;
  }
}
