import { execa } from 'execa';
import { inheritedFrom } from './engine-env.ts';
import { signalGroup } from './signal-group.ts';
import { LONGEST_DELAY_MS } from './system-clock.ts';
import { whyNotStarted } from './start-error.ts';

/** As much is kept of what it prints. */
const OUTPUT_LIMIT = 1024 * 1024;
/** How long its last output may take to arrive once it has ended, and its end once it was killed. */
const LATE_MS = 200;

type Answer = { readonly code: number | null; readonly output: string };

/** Told of a process while it runs. */
type Watch = (pid: number, ended: Promise<unknown>) => void;

/**
 * Runs a short command and gives what it printed, both streams together. At the limit its whole process group is killed
 * and the code is null, and so it is when it cannot be started: the output then says why. Never rejects.
 */
export async function askProgram(
  argv: readonly [string, ...string[]],
  limitMs: number,
  watch: Watch = () => {},
): Promise<Answer> {
  try {
    return await run(argv, limitMs, watch);
  } catch (error) {
    return { code: null, output: whyNotStarted(argv[0], undefined, error) };
  }
}

async function run([program, ...args]: readonly [string, ...string[]], limitMs: number, watch: Watch): Promise<Answer> {
  const asked = execa(program, args, {
    env: inheritedFrom(process.env),
    extendEnv: false,
    detached: true,
    cleanup: false,
    reject: false,
    buffer: false,
    stdin: 'ignore',
  });
  const { pid, stdout, stderr, nodeChildProcess } = asked;
  if (pid === undefined) {
    const result = await asked;
    return { code: null, output: whyNotStarted(program, undefined, result.cause ?? result) };
  }
  const output = new Output();
  for (const stream of [stdout, stderr]) {
    stream.on('data', (chunk: Buffer) => output.take(chunk));
    stream.on('error', () => {}); // closed by us, below
  }
  const closed = new Promise<void>((resolve) => nodeChildProcess.once('close', () => resolve()));
  const ended = new Promise<number | null>((resolve) => nodeChildProcess.once('exit', resolve));
  watch(pid, ended);

  const code = await within(ended, limitMs);
  // Also after its own end, since others of its group may hold its output open.
  signalGroup(pid, 'SIGKILL');
  await within<unknown>(code === undefined ? ended : closed, LATE_MS);
  for (const stream of [stdout, stderr]) stream.destroy();
  return { code: code ?? null, output: output.text };
}

class Output {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  take(chunk: Buffer): void {
    if (this.#size < OUTPUT_LIMIT) this.#chunks.push(chunk.subarray(0, OUTPUT_LIMIT - this.#size));
    this.#size += chunk.length;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.min(ms, LONGEST_DELAY_MS));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
