import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { ConfigInput } from '../../src/config/schema.ts';
import { Catnap } from '../../test/helpers/catnap.ts';
import { memoryOf, openFiles } from '../../test/helpers/proc.ts';
import { largeChat, proofOf, upload } from '../../test/helpers/upload.ts';
import { waitFor } from '../../test/helpers/wait-for.ts';

/**
 * Lets many large requests wait for a model while another one is at work, then swaps, and tells what catnap held in memory:
 * `npm run bench:waiting-bodies -- --requests 200 --mb 20`. `--in-memory` lets it hold all of them, to compare. Loopback only.
 * Exits 1 when a body did not reach its engine as it was sent.
 */

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '200' },
    mb: { type: 'string', default: '20' },
    'in-memory': { type: 'boolean', default: false },
  },
});
const requests = Math.min(1_000, Number(values.requests));
const bytes = Math.min(200, Number(values.mb)) * 1_000_000;

const ENGINE = join(import.meta.dirname, '../../test/fixtures/digest-engine.ts');
const PATIENT = { within: 300_000, every: 100 };

const folder = mkdtempSync(join(tmpdir(), 'catnap-bodies-'));
const hold = join(folder, 'hold');
const command = (...args: string[]): [string, ...string[]] => [process.execPath, ENGINE, '--port', '${PORT}', ...args];
const config: ConfigInput = {
  models: {
    alpha: { backend: 'command', command: command('--hold-while', hold) },
    beta: { backend: 'command', command: command() },
  },
  policy: { request_timeout_secs: 900 },
  ...(values['in-memory'] && {
    body_memory_bytes: 2 * bytes,
    body_memory_total_bytes: 16 * requests * bytes,
    body_disk_bytes: 0,
  }),
};

const image = Buffer.from(randomBytes((bytes * 3) / 4).toString('base64'));
const mib = (count: number): string => `${count.toFixed(0)} MiB`;
const say = (what: string, value: string): void => console.log(`${what.padEnd(44)} ${value}`);

writeFileSync(hold, '');
const catnap = Catnap.launch(config, { folder });
try {
  await catnap.listens();
  const alpha = upload(catnap.port, largeChat('alpha', 'one', Buffer.alloc(10, 'x')));
  await waitFor('alpha to work', async () => (await catnap.model('alpha')).runtime_inflight === 1, PATIENT);
  await run(alpha);
} finally {
  await catnap.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function run(alpha: Promise<unknown>): Promise<void> {
  const before = memoryOf(catnap.pid);
  let largest = { files: 0, rss: 0 };
  const watching = new AbortController();
  const watched = watch((files, rss) => {
    largest = { files: Math.max(largest.files, files), rss: Math.max(largest.rss, rss) };
  }, watching.signal);

  const from = performance.now();
  const asked = Array.from({ length: requests }, (_, at) => largeChat('beta', `${at} `, image));
  const answers = asked.map((parts) => upload(catnap.port, parts));
  await waitFor('all of them to wait', async () => (await catnap.model('beta')).queue_depth === requests, PATIENT);
  const waiting = performance.now();
  const whileWaiting = memoryOf(catnap.pid);
  rmSync(hold);
  const [, ...texts] = await Promise.all([alpha, ...answers.map(async (answer) => (await answer).text)]);
  const done = performance.now();
  watching.abort();
  await watched;

  const wrong = asked.filter((parts, at) => texts[at] !== proofOf(parts)).length;
  say('bodies', `${requests} x ${(bytes / 1e6).toFixed(0)} MB, ${((requests * bytes) / 1e9).toFixed(2)} GB in all`);
  say('answered as they should be', `${requests - wrong} of ${requests}`);
  say('until all of them waited', `${((waiting - from) / 1_000).toFixed(1)} s`);
  say('from then to the last answer, the swap included', `${((done - waiting) / 1_000).toFixed(1)} s`);
  say('files without a name at most', String(largest.files));
  say('RSS before', mib(before.now));
  say('RSS while all of them waited', mib(whileWaiting.now));
  say('peak RSS until all of them waited', mib(whileWaiting.most));
  say('peak RSS in all', mib(memoryOf(catnap.pid).most));
  process.exitCode = wrong === 0 ? 0 : 1;
}

async function watch(see: (files: number, rss: number) => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    see(openFiles(catnap.pid, folder).filter((path) => path.includes('/bodies/')).length, memoryOf(catnap.pid).now);
    await pause(100, undefined, { signal }).catch(() => {});
  }
}
