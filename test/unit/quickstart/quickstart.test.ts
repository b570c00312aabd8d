import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'vitest';
import { configFrom } from '../../../src/config/load.ts';
import { curlLines, quickstartConfig } from '../../../src/quickstart/first-config.ts';
import { prepareQuickstart, type Quickstart } from '../../../src/quickstart/quickstart.ts';
import { testFolder } from '../../helpers/survivors.ts';

let folder = '';
beforeEach(() => {
  const made = testFolder();
  folder = made.path;
  return made.remove;
});

function prepare(lines: string[] = [], cacheDir = join(folder, 'cache')): Promise<Quickstart> {
  return prepareQuickstart({ cacheDir, env: { PATH: join(folder, 'bin') }, progress: (line) => lines.push(line) });
}

function installServer(): string {
  const path = join(folder, 'bin', 'llama-server');
  mkdirSync(join(folder, 'bin'));
  writeFileSync(path, '#!/bin/sh\necho "version: 9.9"\n', { mode: 0o755 });
  return path;
}

function loaded(quickstart: Quickstart) {
  const result = configFrom(quickstartConfig(quickstart), 'quickstart', {}, { HOME: folder });
  if (result.kind !== 'loaded') throw new Error(JSON.stringify(result));
  return result;
}

test('with a llama-server it makes two models and serves them with it', async ({ expect }) => {
  const path = installServer();
  const lines: string[] = [];
  const quickstart = await prepare(lines);
  expect(lines).toEqual([`llama-server 9.9 is at ${path}`]);

  const { config, warnings } = loaded(quickstart);
  expect(warnings).toEqual([]);
  expect(config.port).toBe(3000);
  const files = Object.entries(config.models).map(([name, model]) => {
    expect(model).toMatchObject({ backend: 'llama_server', llama_server_command: [path] });
    return [name, model.backend === 'llama_server' && existsSync(model.model_path)];
  });
  expect(files).toEqual([
    ['alpha', true],
    ['beta', true],
  ]);
});

test('without one it serves the built-in engine and says why, and what to do', async ({ expect }) => {
  const quickstart = await prepare();
  expect(quickstart.kind === 'stub' && quickstart.why).toMatch(
    /^llama-server is not on PATH, and .+\. To serve real models, .+ install llama-server with `.+`\.$/,
  );
  const { config } = loaded(quickstart);
  expect(Object.entries(config.models).map(([name, { backend }]) => [name, backend])).toEqual([
    ['alpha', 'stub'],
    ['beta', 'stub'],
  ]);
});

test('with a cache that cannot be written it serves the built-in engine and names the variable', async ({ expect }) => {
  installServer();
  writeFileSync(join(folder, 'file'), '');
  const quickstart = await prepare([], join(folder, 'file'));
  expect(quickstart.kind === 'stub' && quickstart.why).toContain('Set CATNAP_CACHE to another folder.');
});

test('the lines to type ask both models on the right port', ({ expect }) => {
  const asked = curlLines(4000)
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, url, body] = /^curl (\S+) .* -d '(.*)'$/.exec(line) ?? [];
      return [url, JSON.parse(body ?? '').model];
    });
  const url = 'http://127.0.0.1:4000/v1/chat/completions';
  expect(asked).toEqual([
    [url, 'alpha'],
    [url, 'beta'],
    [url, 'alpha'],
  ]);
});
