import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { ConfigInput, ModelInput } from '../src/config/schema.ts';
import { requireLlama } from '../test/helpers/llama.ts';
import { countModel, sayModel } from '../test/helpers/models.ts';

/**
 * Swaps two models under clients that stream, leave and ask for nonsense, and watches what catnap holds on to.
 * `npm run soak -- --secs 600 [--engine stub|llama]`. Exits 1 when memory or open handles grew after the first quarter,
 * or when a client got another answer than it asked for. `llama`: real llama-servers with tiny models.
 */

const { values } = parseArgs({
  options: { secs: { type: 'string', default: '600' }, engine: { type: 'string', default: 'stub' } },
});
const secs = Number(values.secs);
const CLIENTS = 16;
/** What memory may grow by from one quarter's median to the last one's, and handles by. */
const MORE_MIB = 24;
const MORE_HANDLES = 16;

type Sample = { readonly rssMib: number; readonly handles: number };

const folder = mkdtempSync(join(tmpdir(), 'catnap-soak-'));
const config: ConfigInput = {
  port: 0,
  metrics_port: 0,
  state_dir: join(folder, 'state'),
  models: await modelsFor(values.engine),
};
writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
/** A heap that may grow as it likes hides what is kept: V8 collects when it must. */
const SMALL_HEAP = ['--max-old-space-size=120', '--max-semi-space-size=8'];
const child = spawn(
  process.execPath,
  [...SMALL_HEAP, join(import.meta.dirname, 'launch/catnap.mjs'), '--config', 'config.json'],
  {
    cwd: folder,
    env: { ...process.env, CATNAP_LOG: 'info', CATNAP_LOG_FORMAT: 'json' },
    stdio: ['ignore', 'ignore', 'pipe'],
  },
);
const ended = once(child, 'exit');
const url = await new Promise<string>((resolve, reject) => {
  child.once('exit', () => reject(new Error('catnap ended before it listened')));
  createInterface({ input: child.stderr }).on('line', (line) => {
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
    if (found !== null) resolve(found[0]);
  });
});

const until = performance.now() + secs * 1_000;
let answered = 0;
/** Answers that a client could not have wished for, by their status. */
const wrong = new Map<number, number>();
const samples: Sample[] = [];
try {
  await Promise.all([watch(), ...Array.from({ length: CLIENTS }, (_, at) => client(at))]);
  process.exitCode = verdict() ? 0 : 1;
} finally {
  child.kill('SIGTERM');
  await ended;
  rmSync(folder, { recursive: true, force: true });
}

async function modelsFor(engine: string): Promise<Record<string, ModelInput>> {
  if (engine === 'stub') return { alpha: { backend: 'stub' }, beta: { backend: 'stub' } };
  if (engine !== 'llama') throw new Error(`--engine is stub or llama, not ${engine}`);
  const llama_server_command = await requireLlama({
    skip: (reason) => {
      throw new Error(reason);
    },
  });
  const real = (path: string): ModelInput => ({
    backend: 'llama_server',
    llama_server_command,
    model_path: path,
    extra_args: ['--threads', '1'],
  });
  return { alpha: real(await sayModel('I am alpha.')), beta: real(await countModel(40)) };
}

async function client(at: number): Promise<void> {
  for (let round = at; performance.now() < until; round++) {
    const model = round % 7 === 0 ? 'nobody' : round % 2 === 0 ? 'alpha' : 'beta';
    const leaving = new AbortController();
    const body = JSON.stringify({
      model,
      stream: round % 3 > 0,
      messages: [{ role: 'user', content: 'x'.repeat(round % 4_096) }],
    });
    try {
      const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body, signal: leaving.signal });
      if (round % 5 === 0) leaving.abort();
      else await reply.text();
      answered++;
      if (reply.status !== (model === 'nobody' ? 404 : 200))
        wrong.set(reply.status, (wrong.get(reply.status) ?? 0) + 1);
    } catch (error) {
      if (!leaving.signal.aborted) throw error;
    }
  }
}

async function watch(): Promise<void> {
  while (performance.now() < until) {
    await pause(Math.max(250, secs * 5));
    const rss = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]);
    samples.push({ rssMib: rss / 1_024, handles: readdirSync(`/proc/${child.pid}/fd`).length });
  }
}

function verdict(): boolean {
  const quarter = Math.floor(samples.length / 4);
  const early = samples.slice(quarter, 2 * quarter);
  const late = samples.slice(-quarter);
  const [rss, handles] = [grown(early, late, 'rssMib'), grown(early, late, 'handles')];
  const others = [...wrong].map(([status, times]) => `${times} times ${status}`).join(', ');
  console.log(`${answered} requests in ${secs} s, ${samples.length} samples; wrong answers: ${others || 'none'}`);
  console.log(
    `RSS ${rss.before.toFixed(1)} MiB, then ${rss.after.toFixed(1)} MiB; handles ${handles.before}, then ${handles.after}`,
  );
  const flat = rss.after - rss.before <= MORE_MIB && handles.after - handles.before <= MORE_HANDLES;
  return flat && wrong.size === 0;
}

function grown(early: readonly Sample[], late: readonly Sample[], what: keyof Sample) {
  return { before: median(early.map((sample) => sample[what])), after: median(late.map((sample) => sample[what])) };
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
}
