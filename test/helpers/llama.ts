import { execa } from 'execa';
import { Ports } from '../../src/adapters/ports.ts';
import { catnapCacheDir } from '../../src/quickstart/cache-dir.ts';
import { fetchLlamaServer } from '../../src/quickstart/llama/fetch.ts';
import { findLlamaServer, type FindResult } from '../../src/quickstart/llama/find.ts';
import { waitFor } from './wait-for.ts';

/** The part of a test's context that lets it skip itself. */
type Skippable = { skip(reason?: string): never };

let looked: Promise<FindResult> | undefined;

/**
 * The path of a real llama-server, found or fetched once per machine. Where none can be had a test that gives its
 * context skips itself with the reason; under CI, and for everyone else, that is an error.
 */
export async function requireLlama(context?: Skippable): Promise<string> {
  looked ??= findOrFetch();
  const found = await looked;
  if (found.kind === 'found') return found.server.path;
  const reason = `no llama-server: ${found.why}`;
  if (context === undefined || isCi()) throw new Error(reason);
  return context.skip(reason);
}

async function findOrFetch(): Promise<FindResult> {
  const terms = { cacheDir: catnapCacheDir(process.env), env: process.env };
  const found = await findLlamaServer({ command: 'llama-server', ...terms });
  if (found.kind === 'found') return found;
  const fetched = await fetchLlamaServer({ ...terms, progress: (line) => console.error(`llama-server: ${line}`) });
  return fetched.kind === 'found' ? fetched : { kind: 'missing', why: `${found.why}, and ${fetched.why}` };
}

/** Under CI a real part that is missing is a failure, never a reason to skip. */
export function isCi(): boolean {
  const { CI } = process.env;
  return CI !== undefined && CI !== '' && CI !== 'false';
}

/** A llama-server that is driven directly, without catnap. */
export type DirectLlama = AsyncDisposable & {
  readonly origin: string;
  readonly pid: number;
  /** Resolves once the process is gone. */
  stop(): Promise<void>;
};

/** Starts one on a free port and waits until it is ready. */
export async function startLlama({
  server,
  model,
  args = [],
}: {
  readonly server: string;
  readonly model: string;
  readonly args?: readonly string[];
}): Promise<DirectLlama> {
  const origin = `http://127.0.0.1:${await new Ports().free()}`;
  const child = execa(
    server,
    ['--model', model, '--host', '127.0.0.1', '--port', new URL(origin).port, '--threads', '1', ...args],
    { stdin: 'ignore', all: true, reject: false, forceKillAfterDelay: 2_000, maxBuffer: 1_000_000 },
  );
  const ended = child.then((result) => String(result.failed ? result.message : result.all).slice(-500));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  try {
    const early = ended.then((said) => Promise.reject(new Error(`llama-server ended before it was ready: ${said}`)));
    await Promise.race([early, waitFor('llama-server to be ready', () => isHealthy(origin))]);
  } catch (error) {
    await stop();
    throw error;
  }
  if (child.pid === undefined) throw new Error('llama-server answers but has no pid');
  return { origin, pid: child.pid, stop, [Symbol.asyncDispose]: stop };
}

async function isHealthy(origin: string): Promise<boolean> {
  try {
    const answer = await fetch(`${origin}/health`, { signal: AbortSignal.timeout(1_000) });
    await answer.text();
    return answer.ok;
  } catch {
    return false;
  }
}
