import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/config/schema.ts';
import { stateDir, type Catnap } from '../helpers/catnap.ts';
import { test } from '../helpers/e2e.ts';
import { memoryOf, openFiles } from '../helpers/proc.ts';
import { largeChat, proofOf, upload, type Answered, type Parts } from '../helpers/upload.ts';
import { waitFor } from '../helpers/wait-for.ts';

const ENGINE = join(import.meta.dirname, '../fixtures/digest-engine.ts');
/** A busy machine takes its time to start engines. */
const LONG = { timeout: 120_000 };
const MIB = 1_048_576;
const image = Buffer.from(randomBytes((5 * MIB * 3) / 4).toString('base64'));

const bodiesIn = (folder: string): string => join(stateDir(folder), 'bodies');
const holdFile = (folder: string): string => join(folder, 'hold');

/** Two models; `alpha` keeps its answers back as long as the file is there. */
function twoModels(folder: string, more: Omit<ConfigInput, 'models'>): ConfigInput {
  const command = (...args: string[]): [string, ...string[]] => [
    process.execPath,
    ENGINE,
    '--port',
    '${PORT}',
    ...args,
  ];
  return {
    models: {
      alpha: { backend: 'command', command: command('--hold-while', holdFile(folder)) },
      beta: { backend: 'command', command: command() },
    },
    policy: { request_timeout_secs: 100 },
    ...more,
  };
}

/** `alpha` at work on something that does not end before `release`. */
async function busy(catnap: Catnap, folder: string): Promise<{ release: () => void; alpha: Promise<Answered> }> {
  writeFileSync(holdFile(folder), '');
  const alpha = upload(catnap.port, largeChat('alpha', 'one', Buffer.from('small')));
  await waitFor('alpha to work', async () => (await catnap.model('alpha')).runtime_inflight === 1, { within: 30_000 });
  return { release: () => rmSync(holdFile(folder)), alpha };
}

const waitUntilWaiting = (catnap: Catnap, count: number): Promise<unknown> =>
  waitFor(`${count} to wait`, async () => (await catnap.model('beta')).queue_depth === count, {
    within: 40_000,
    every: 50,
  });

const askedOf = (count: number): Parts[] => Array.from({ length: count }, (_, i) => largeChat('beta', `${i} `, image));

test(
  '300 MB of bodies that wait for another model take little memory, and each reaches its engine as it was sent',
  LONG,
  async ({ expect, start, folder }) => {
    const catnap = await start(twoModels(folder, { body_memory_total_bytes: 16 * MIB }));
    const { release, alpha } = await busy(catnap, folder);
    const before = memoryOf(catnap.pid).now;
    const asked = askedOf(60);
    const answers = asked.map((parts) => upload(catnap.port, parts));
    await waitUntilWaiting(catnap, 60);
    const { most } = memoryOf(catnap.pid);
    expect(most - before).toBeLessThan(150);
    expect(openFiles(catnap.pid, bodiesIn(folder)).length).toBeGreaterThan(50);
    expect([readdirSync(bodiesIn(folder)), statSync(bodiesIn(folder)).mode & 0o777]).toEqual([[], 0o700]);
    release();
    expect((await alpha).status).toBe(200);
    expect((await Promise.all(answers)).map(({ text }) => text)).toEqual(asked.map(proofOf));
    expect(memoryOf(catnap.pid).most - before).toBeLessThan(200);
    expect(openFiles(catnap.pid, bodiesIn(folder))).toEqual([]);
  },
);

test('a client that leaves takes its body along, and a kill leaves none', LONG, async ({ expect, start, folder }) => {
  const config = twoModels(folder, { body_memory_total_bytes: MIB });
  const catnap = await start(config);
  const { release, alpha } = await busy(catnap, folder);
  const leaving = new AbortController();
  const gone = expect(upload(catnap.port, largeChat('beta', 'a', image), leaving.signal)).rejects.toThrow();
  const lost = expect(upload(catnap.port, largeChat('beta', 'b', image))).rejects.toThrow();
  await waitUntilWaiting(catnap, 2);
  expect(openFiles(catnap.pid, bodiesIn(folder)).length).toBe(2);
  leaving.abort();
  await gone;
  await waitFor('its file to be closed', () => openFiles(catnap.pid, bodiesIn(folder)).length === 1);

  const alphaLost = expect(alpha).rejects.toThrow();
  await catnap.stop('SIGKILL');
  await Promise.all([lost, alphaLost]);
  expect(readdirSync(bodiesIn(folder))).toEqual([]);
  release();
  const again = await start(config);
  const parts = largeChat('beta', 'c', image);
  expect((await upload(again.port, parts)).text).toBe(proofOf(parts));
});

test(
  'bodies beyond both bounds are told to come back, and the others are answered',
  LONG,
  async ({ expect, start, folder }) => {
    const catnap = await start(twoModels(folder, { body_memory_total_bytes: MIB, body_disk_bytes: 16 * MIB }));
    const { release, alpha } = await busy(catnap, folder);
    const asked = askedOf(3);
    const answers = asked.map((parts) => upload(catnap.port, parts));
    await waitUntilWaiting(catnap, 3);
    const { status, headers, text } = await upload(catnap.port, largeChat('beta', 'one more', image));
    expect([status, headers['x-catnap-error'], JSON.parse(text).error.type]).toEqual([
      503,
      'body_not_kept',
      'server_error',
    ]);
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    release();
    await alpha;
    expect((await Promise.all(answers)).map((answer) => answer.text)).toEqual(asked.map(proofOf));
  },
);
