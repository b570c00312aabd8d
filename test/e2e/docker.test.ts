import { join } from 'node:path';
import { execa } from 'execa';
import { parse } from 'yaml';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { ROOT } from '../house/source-files.ts';

test('the Dockerfile builds, starts healthy and stops when asked', { timeout: 300_000 }, async ({ expect }) => {
  const tried = await execa(process.execPath, [join(ROOT, 'scripts/try-dockerfile.ts')], {
    reject: false,
    all: true,
    stdin: 'ignore',
  });
  expect(tried.all).toContain('healthy and stops when asked');
  expect(tried.exitCode).toBe(0);
});

test('compose builds that file, mounts a config that is there, and gives catnap the time to stop', ({ expect }) => {
  const { services } = parse(readFileSync(join(ROOT, 'docker/compose.yaml'), 'utf8'));
  expect(services.catnap).toMatchObject({
    build: { context: '..', dockerfile: 'docker/Dockerfile' },
    init: true,
    volumes: ['${CATNAP_CONFIG:-./config.json}:/etc/catnap/config.json:ro'],
    stop_grace_period: '45s',
  });
  // A public port would need keys.
  expect(services.catnap.ports.every((port: string) => port.startsWith('127.0.0.1:'))).toBe(true);
});
