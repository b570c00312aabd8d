import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { z } from 'zod';
import { satisfies } from '../../scripts/launch/version.mjs';
import { ROOT } from './source-files.ts';

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      integrity: z.string().optional(),
      resolved: z.string().optional(),
      hasInstallScript: z.boolean().optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
});
const manifestSchema = z.object({ version: z.string(), engines: z.object({ node: z.string() }).optional() });

const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
const installedOf = (path: string) =>
  Object.entries(lockSchema.parse(read(path)).packages).filter(([name]) => name !== '');

describe.each([
  'package-lock.json',
  'scripts/node/linux-x64/package-lock.json',
  'scripts/node/linux-arm64/package-lock.json',
])('%s', (path) => {
  const installed = installedOf(path);

  test('pins every package by its hash and names no host', ({ expect }) => {
    expect(installed.length).toBeGreaterThan(0);
    expect(
      installed.filter(([, { integrity, resolved }]) => integrity === undefined || resolved !== undefined),
    ).toEqual([]);
  });

  test('needs no script of any package', ({ expect }) => {
    expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  });

  // One that does not exist in the wanted version is left out by npm install without a word, and then npm ci refuses the file.
  test('has the packages of every platform', ({ expect }) => {
    const names = new Set(installed.map(([name]) => name.split('node_modules/').at(-1)));
    const wanted = installed.flatMap(([, { optionalDependencies }]) => Object.keys(optionalDependencies ?? {}));
    expect(wanted.filter((name) => !names.has(name))).toEqual([]);
  });
});

test('the Node that the launcher fetches is the same for every platform, and new enough for us', ({ expect }) => {
  const versions = ['x64', 'arm64'].map(
    (arch) => manifestSchema.parse(read(`scripts/node/linux-${arch}/package.json`)).version,
  );
  expect(new Set(versions).size).toBe(1);
  const { engines } = manifestSchema.parse(read('package.json'));
  expect(satisfies(versions[0] ?? '', engines?.node ?? '')).toBe(true);
  for (const arch of ['x64', 'arm64']) {
    expect(
      installedOf(`scripts/node/linux-${arch}/package-lock.json`).map(([name, { version }]) => [name, version]),
    ).toEqual([[`node_modules/node-linux-${arch}`, versions[0]]]);
  }
});
