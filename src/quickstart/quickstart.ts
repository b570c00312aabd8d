import { join } from 'node:path';
import { writeSayModel } from './gguf/models.ts';
import type { Env } from './cache-dir.ts';
import { fetchLlamaServer } from './llama/fetch.ts';
import { findLlamaServer, type FindResult, type LlamaServer } from './llama/find.ts';
import { installCommand } from './llama/install-command.ts';
import { fileTrouble } from './file-trouble.ts';

/** What the first run without a config serves: two tiny models on a real llama-server, or the built-in engine. */
export type Quickstart =
  | {
      readonly kind: 'llama';
      readonly server: LlamaServer;
      /** The model files. */
      readonly models: { readonly alpha: string; readonly beta: string };
    }
  | {
      readonly kind: 'stub';
      /** Why there is no real engine, and what to do about it. */
      readonly why: string;
    };

const ALPHA_SAYS = 'Hello from alpha, the first model.';
const BETA_SAYS = 'Greetings from beta, the second model.';

/** Gets everything ready that the first run needs. It tells each slow step before it takes it, and what it contacts. */
export async function prepareQuickstart({
  command = 'llama-server',
  cacheDir,
  env,
  progress,
  signal,
}: {
  readonly command?: string;
  readonly cacheDir: string;
  readonly env: Env;
  readonly progress: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}): Promise<Quickstart> {
  const found = await findOrFetch({ command, cacheDir, env, progress, signal });
  if (found.kind === 'missing') return { kind: 'stub', why: `${found.why}. ${await advice()}` };
  const { server } = found;
  progress(`llama-server ${server.version} is at ${server.path}`);
  try {
    return { kind: 'llama', server, models: await makeModels(cacheDir) };
  } catch (error) {
    const trouble = fileTrouble(error);
    if (trouble === undefined) throw error;
    return {
      kind: 'stub',
      why: `the models for it cannot be written: ${trouble}. Set CATNAP_CACHE to another folder.`,
    };
  }
}

async function findOrFetch({
  command,
  ...terms
}: {
  readonly command: string;
  readonly cacheDir: string;
  readonly env: Env;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal | undefined;
}): Promise<FindResult> {
  const found = await findLlamaServer({ command, ...terms });
  if (found.kind === 'found') return found;
  const fetched = await fetchLlamaServer(terms);
  return fetched.kind === 'found' ? fetched : { kind: 'missing', why: `${found.why}, and ${fetched.why}` };
}

async function advice(): Promise<string> {
  return `To serve real models, start again when that is solved, or install llama-server with \`${await installCommand()}\`.`;
}

async function makeModels(cacheDir: string): Promise<{ readonly alpha: string; readonly beta: string }> {
  const alpha = join(cacheDir, 'models', 'alpha.gguf');
  const beta = join(cacheDir, 'models', 'beta.gguf');
  await writeSayModel({ file: alpha, text: ALPHA_SAYS });
  await writeSayModel({ file: beta, text: BETA_SAYS });
  return { alpha, beta };
}
