import { execFile, type ExecFileException } from 'node:child_process';
import type { Env } from './cache-dir.ts';
import { Unavailable } from './unavailable.ts';

type ToolTerms = {
  readonly env: Env;
  readonly limitMs: number;
  readonly cwd?: string;
  readonly signal?: AbortSignal | undefined;
};

type Printed = { readonly stdout: string; readonly stderr: string };

const MOST_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Runs a program of the system to a good end and gives what it printed; anything else is `Unavailable`, in a line. */
export function runTool(
  program: string,
  args: readonly string[],
  { env, limitMs, cwd, signal }: ToolTerms,
): Promise<Printed> {
  const { promise, resolve, reject } = Promise.withResolvers<Printed>();
  const options = {
    env: { ...env, LC_ALL: 'C' },
    timeout: limitMs,
    killSignal: 'SIGKILL',
    maxBuffer: MOST_OUTPUT_BYTES,
    ...(cwd === undefined ? {} : { cwd }),
    ...(signal === undefined ? {} : { signal }),
  } as const;
  const child = execFile(program, args, options, (error, stdout, stderr) => {
    if (error === null) return resolve({ stdout, stderr });
    if (signal?.aborted === true) return reject(signal.reason);
    reject(new Unavailable(`${program} ${reasonOf(error, `${stdout}\n${stderr}`, limitMs)}`));
  });
  child.stdin?.end();
  return promise;
}

function reasonOf(error: ExecFileException, output: string, limitMs: number): string {
  if (error.code === 'ENOENT') return 'cannot be started: it, or the loader it names, does not exist';
  if (error.code === 'EACCES') return 'cannot be started: it may not be executed here';
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'printed more than can be read';
  if (error.killed === true) return `did not finish within ${limitMs / 1000} seconds`;
  const said = lastComplaint(output);
  if (said !== undefined) return `failed: ${said}`;
  return `${error.signal ? `was ended by ${error.signal}` : `ended with code ${error.code}`} and said nothing`;
}

/** The line most likely to name the cause: the first one marked as an error, else the last. */
function lastComplaint(output: string): string | undefined {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return (lines.find((line) => /^E: |\berror\b/i.test(line)) ?? lines.at(-1))?.replace(/^E: /, '').slice(0, 300);
}
