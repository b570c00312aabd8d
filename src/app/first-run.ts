import { join } from 'node:path';
import { configFrom, type Loaded } from '../config/load.ts';
import { catnapCacheDir } from '../quickstart/cache-dir.ts';
import { curlLines, quickstartConfig } from '../quickstart/first-config.ts';
import { prepareQuickstart } from '../quickstart/quickstart.ts';

export type FirstRun = {
  readonly loaded: Loaded;
  /** What to tell once it listens. */
  readonly welcome: (port: number) => string;
};

/** With no config at all catnap shows its main job: two tiny models that it swaps. */
export async function firstRun(
  env: Readonly<Record<string, string | undefined>>,
  port: number | undefined,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<FirstRun> {
  const cacheDir = catnapCacheDir(env);
  say('There is no config.json or config.yaml here, so catnap shows what it does with two tiny models.');
  const quickstart = await prepareQuickstart({ cacheDir, env, progress: say, signal });
  if (quickstart.kind === 'stub') say(`No real engine can be had: ${quickstart.why}`);
  // A folder of its own, so that trying it does not get in the way of a catnap that serves, or of another that is tried.
  const state_dir = join(cacheDir, port === undefined ? 'first-run' : `first-run-${port}`);
  const input = { ...quickstartConfig(quickstart), state_dir };
  const loaded = configFrom(input, 'the embedded default', { port }, env);
  const engine = quickstart.kind === 'stub' ? 'the built-in stub engine, which only echoes' : 'a real llama-server';
  const welcome = (listening: number): string =>
    `\nalpha and beta are served by ${engine}; one of them is awake at a time. Try, in another terminal:\n\n${curlLines(listening)}\n` +
    `and \`${statusLine(listening)}\` between them. Ctrl+C ends it and leaves nothing behind.\n`;
  return { loaded, welcome };
}

const DEFAULT_PORT = 3_000;

/** Where it listens by default, the command finds it without being told. */
const statusLine = (port: number): string =>
  port === DEFAULT_PORT ? 'npx catnap status' : `npx catnap status --url http://127.0.0.1:${port}`;
