import { join } from 'node:path';
import type { Env } from '../cache-dir.ts';
import { runTool } from '../run-tool.ts';
import { Unavailable } from '../unavailable.ts';
import { findCommand } from './on-path.ts';
import { LLAMA_SERVER, SUITE } from './packages.ts';

export type LlamaServer = { readonly path: string; readonly version: string };

export type FindResult =
  | { readonly kind: 'found'; readonly server: LlamaServer }
  | { readonly kind: 'missing'; readonly why: string };

const VERSION_LIMIT_MS = 10_000;

/** Where a fetched llama-server lies. */
export const fetchedFolder = (cacheDir: string): string => join(cacheDir, LLAMA_SERVER.name, SUITE);
export const fetchedServer = (cacheDir: string): string => join(fetchedFolder(cacheDir), 'llama-server');

/** Looks for a llama-server that runs: `command` as a path or on PATH, then the one fetched earlier. */
export async function findLlamaServer({
  command,
  env,
  cacheDir,
  signal,
}: {
  readonly command: string;
  readonly env: Env;
  readonly cacheDir: string;
  readonly signal?: AbortSignal | undefined;
}): Promise<FindResult> {
  const installed = await findCommand(command, env);
  if (installed === undefined) return checkFetched(`${command} is not on PATH`);
  const result = await checkLlamaServer(installed, env, signal);
  return result.kind === 'found' ? result : checkFetched(result.why);

  async function checkFetched(whyNotInstalled: string): Promise<FindResult> {
    const fetched = await findCommand(fetchedServer(cacheDir), env);
    if (fetched === undefined) return { kind: 'missing', why: whyNotInstalled };
    const result = await checkLlamaServer(fetched, env, signal);
    return result.kind === 'found' ? result : { kind: 'missing', why: `${whyNotInstalled}, and ${result.why}` };
  }
}

/** Runs it once, since a file that is there may lack a library or be made for another processor. */
export async function checkLlamaServer(path: string, env: Env, signal?: AbortSignal): Promise<FindResult> {
  try {
    const { stdout, stderr } = await runTool(path, ['--version'], { env, limitMs: VERSION_LIMIT_MS, signal });
    const version = /version: (\S+)/.exec(`${stdout}\n${stderr}`)?.[1] ?? 'unknown';
    return { kind: 'found', server: { path, version } };
  } catch (error) {
    if (error instanceof Unavailable) return { kind: 'missing', why: error.message };
    throw error;
  }
}
