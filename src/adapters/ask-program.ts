import { spawn } from 'node:child_process';
import { after } from '../core/kinds.ts';
import type { Answer } from '../ports/process.ts';
import { inheritedFrom } from './engine-env.ts';
import { signalGroup } from './signal-group.ts';
import { systemClock } from './system-clock.ts';
import { whyNotStarted } from './start-error.ts';

/** As much is kept of what it prints. */
const OUTPUT_LIMIT = 1024 * 1024;
/** How long its last output may take to arrive once it has ended, and its end once it was killed. */
const LATE_MS = 200;
const CALLED_OFF = 'it was called off';

const clock = systemClock();

export type AskingTerms = {
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Told of the process while it runs. */
  readonly watch?: (pid: number, ended: Promise<unknown>) => void;
};

/**
 * Runs a short command and gives what it printed, both streams together. At the limit, or when the signal fires, its whole
 * process group is killed and there is no code, and so it is when it cannot be started: then the output says why as well. Never rejects.
 */
export async function askProgram(
  argv: readonly [string, ...string[]],
  limitMs: number,
  terms: AskingTerms = {},
): Promise<Answer> {
  try {
    return await run(argv, limitMs, terms);
  } catch (error) {
    return notStarted(argv[0], error);
  }
}

async function run(
  [program, ...args]: readonly [string, ...string[]],
  limitMs: number,
  terms: AskingTerms,
): Promise<Answer> {
  const { env = inheritedFrom(process.env), signal, watch = () => {} } = terms;
  if (signal?.aborted === true) return { code: null, output: '', why: CALLED_OFF };
  const asked = spawn(program, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const refused = new Promise<unknown>((resolve) => asked.once('error', resolve));
  const { pid, stdout, stderr } = asked;
  if (pid === undefined) return notStarted(program, await refused);
  const output = new Output();
  for (const stream of [stdout, stderr]) {
    stream.on('data', (chunk: Buffer) => output.take(chunk));
    stream.on('error', () => {}); // closed by us, below
  }
  const closed = new Promise<void>((resolve) => asked.once('close', () => resolve()));
  const ended = new Promise<End>((resolve) => asked.once('exit', (code, by) => resolve({ code, by })));
  watch(pid, ended);

  const end = await within(ended, limitMs, signal);
  // Also after its own end, since others of its group may hold its output open.
  signalGroup(pid, 'SIGKILL');
  await within<unknown>(end === undefined ? ended : closed, LATE_MS);
  for (const stream of [stdout, stderr]) stream.destroy();
  // One that even this did not end hangs in a driver, and nobody waits for it.
  asked.unref();
  if (typeof end?.code === 'number') return { code: end.code, output: output.text };
  return { code: null, output: output.text, why: whyNoCode(end, limitMs, signal) };
}

type End = { readonly code: number | null; readonly by: string | null };

function whyNoCode(end: End | undefined, limitMs: number, signal: AbortSignal | undefined): string {
  if (end !== undefined) return `it was ended by ${end.by ?? 'a signal'}`;
  return signal?.aborted === true ? CALLED_OFF : `it did not end within ${limitMs / 1_000} s`;
}

function notStarted(program: string, error: unknown): Answer {
  const why = whyNotStarted(program, undefined, error);
  return { code: null, output: why, why };
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

async function within<T>(promise: Promise<T>, ms: number, signal?: AbortSignal): Promise<T | undefined> {
  const over = Promise.withResolvers<undefined>();
  const give = (): void => over.resolve(undefined);
  const cancel = clock.at(after(clock.now(), ms), give);
  signal?.addEventListener('abort', give, { once: true });
  if (signal?.aborted === true) give();
  try {
    return await Promise.race([promise, over.promise]);
  } finally {
    cancel();
    signal?.removeEventListener('abort', give);
  }
}
