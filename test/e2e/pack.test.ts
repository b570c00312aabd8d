import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { test } from 'vitest';
import { ROOT } from '../house/source-files.ts';
import { testFolder } from '../helpers/survivors.ts';

test(
  'the package installs from its tarball alone and runs',
  { timeout: 180_000 },
  async ({ expect, onTestFinished }) => {
    const folder = testFolder();
    onTestFinished(() => folder.remove());
    const npm = (...args: readonly string[]) =>
      execa('npm', [...args, '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: ROOT });
    await npm('pack', '--silent', '--pack-destination', folder.path);
    const [tarball = ''] = readdirSync(folder.path);
    await npm('install', '--prefix', folder.path, '--prefer-offline', '--no-save', join(folder.path, tarball));

    const home = join(folder.path, 'node_modules/catnap');
    const inside = readdirSync(home, { recursive: true, encoding: 'utf8' });
    expect(inside).toEqual(
      expect.arrayContaining([
        'dist/cli/main.js',
        'python/catnap_vllm.py',
        'scripts/launch.mjs',
        'LICENSE',
        'README.md',
      ]),
    );
    expect(inside.filter((path) => /^(src|test|docker|\.ci)|\.made-from$/.test(path))).toEqual([]);
    for (const arch of ['x64', 'arm64']) expect(inside).toContain(`scripts/node/linux-${arch}/package-lock.json`);

    const catnap = (...args: readonly string[]) =>
      execa(join(folder.path, 'node_modules/.bin/catnap'), args, {
        cwd: folder.path,
        env: { PATH: `${dirname(process.execPath)}:${process.env['PATH']}` },
      });
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect((await catnap('--version')).stdout).toBe(version);
    expect(JSON.parse((await catnap('config', 'schema')).stdout)).toHaveProperty('properties.models');
  },
);
