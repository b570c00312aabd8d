import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'vitest';

const FLOODING = join(import.meta.dirname, '../fixtures/flooding-log.ts');

test('a log that nobody reads holds nothing up, is bounded, and keeps whole lines', async ({ expect }) => {
  const child = spawn(process.execPath, [FLOODING], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  // Stderr is not read until the program has said that it wrote everything.
  const [said] = await once(child.stdout, 'data');
  const { lines, lost } = JSON.parse(String(said));
  expect(lost).toBeGreaterThan(0);
  const written = (await text(child.stderr)).split('\n');
  expect(written.pop()).toBe('');
  expect(written).toHaveLength(lines - lost);
  expect(new Set(written)).toEqual(new Set(['x'.repeat(999)]));
  expect(await exited).toEqual([0, null]);
});
