import { execFileSync, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { hasProgram, startPinned, stop } from './pinned.ts';

type Command = readonly [string, ...string[]];

/** The two programs around what is measured. They run outside this process, and outside Node where there is a compiler. */
export type Tools = { readonly engine: Command; readonly load: Command; readonly note: string };

const HERE = import.meta.dirname;
const BUILD_LIMIT_MS = 120_000;

export function makeTools(folder: string): Tools {
  if (!hasProgram('go')) {
    const node = (name: string): Command => [process.execPath, join(HERE, `${name}.ts`)];
    return { engine: node('stub'), load: node('load'), note: 'engine and load in Node, since there is no Go compiler' };
  }
  const build = (name: string): Command => {
    const binary = join(folder, name);
    execFileSync('go', ['build', '-o', binary, join(HERE, `${name}.go`)], {
      timeout: BUILD_LIMIT_MS,
      stdio: 'inherit',
    });
    return [binary];
  };
  return { engine: build('stub'), load: build('load'), note: 'engine and load in Go' };
}

const Result = z.object({
  done: z.number(),
  bytes: z.number(),
  failed: z.number(),
  secs: z.number(),
  p50Us: z.number(),
  p99Us: z.number(),
  fault: z.string().optional(),
});
export type Result = z.infer<typeof Result>;

/** Starts the engine and tells its port. */
export async function startEngine({ engine }: Tools): Promise<{ child: ChildProcess; port: number }> {
  const child = startPinned('rest', engine, 'read');
  return { child, port: Number(await firstLine(child)) };
}

/** Runs one load to its end. */
export async function runLoad({ load }: Tools, port: number, args: readonly string[]): Promise<Result> {
  const child = startPinned('rest', [...load, `127.0.0.1:${port}`, ...args], 'read');
  try {
    return Result.parse(JSON.parse(await firstLine(child)));
  } finally {
    child.stdin?.end();
    await stop(child);
  }
}

/** Opens streams that stay open while `during` runs. */
export async function holdStreams({ load }: Tools, port: number, count: number, during: () => void): Promise<Result> {
  const child = startPinned('rest', [...load, `127.0.0.1:${port}`, 'hold', String(count)], 'read');
  try {
    const result = Result.parse(JSON.parse(await firstLine(child)));
    during();
    return result;
  } finally {
    child.stdin?.end();
    await stop(child);
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('a program was started whose output is not read');
  for await (const line of createInterface(child.stdout)) return line;
  throw new Error(`${child.spawnargs.join(' ')} ended without a word`);
}
