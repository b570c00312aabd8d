import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'vitest';

const CATNAP = join(import.meta.dirname, '../fixtures/catnap.ts');

/** Runs the command line as a process in an empty folder that holds `files`. */
async function catnap(argv: readonly string[], files: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'catnap-e2e-'));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    const child = spawn(process.execPath, [CATNAP, ...argv], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { code, out, err };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const GOOD = JSON.stringify({ models: { alpha: { backend: 'stub' } } });
const BAD = JSON.stringify({ models: { alpha: { backend: 'stub', tokenz: 3 } }, port: 'high' });

test('a usage error ends the process with 2', async ({ expect }) => {
  const { code, out, err } = await catnap(['--prot', '3000']);
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain('Did you mean --port?');
});

test('the version and the help end it with 0', async ({ expect }) => {
  expect((await catnap(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(await catnap(['--help'])).toMatchObject({ code: 0 });
});

test('a config in the folder is found and checked', async ({ expect }) => {
  const fine = await catnap(['config', 'check'], { 'config.json': GOOD });
  expect(fine).toMatchObject({ code: 0, out: 'config.json can be served: 1 model (alpha)\n' });
  const local = await catnap(['config', 'check'], { 'config.json': GOOD, 'config.local.json': '{"prot": 1}' });
  expect(local.code).toBe(2);
  expect(local.err).toContain('config.local.json');
  expect((await catnap(['config', 'check'])).code).toBe(2);
});

test('a bad config is not served: every problem is listed, and the process ends with 2', async ({ expect }) => {
  const { code, err } = await catnap([], { 'config.json': BAD });
  expect(code).toBe(2);
  expect(err).toContain('models.alpha');
  expect(err).toContain('tokenz');
  expect(err).toContain('port');
  expect(err).not.toContain('listens on');
});

test('a bad CATNAP_LOG is named, and the process ends with 2', async ({ expect }) => {
  const child = spawn(process.execPath, [CATNAP], {
    cwd: tmpdir(),
    env: { ...process.env, CATNAP_LOG: 'loud' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(err).toContain('CATNAP_LOG: "loud" is not a level.');
  expect(code).toBe(2);
});

test('a reader that leaves early is no failure', async ({ expect }) => {
  const child = spawn(process.execPath, [CATNAP, 'config', 'schema'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect([code, err]).toEqual([0, '']);
});
