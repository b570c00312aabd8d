import { test } from 'vitest';
import { identityOf, versionOf } from '../../../src/app/identity.ts';
import type { ModelConfig } from '../../../src/config/schema.ts';
import { goodConfig } from '../../helpers/config.ts';

const programs = { find: async (path: string) => ({ path, mark: '1 2 3' }) };

function model(value: Readonly<Record<string, unknown>>): ModelConfig {
  const { m } = goodConfig({ models: { m: value } }).models;
  if (m === undefined) throw new Error('the config has lost its model');
  return m;
}

const VLLM = { backend: 'vllm_serve', model_path: 'org/model' };
const SGLANG = { backend: 'sglang', model_path: 'org/model' };
const COMMAND = { backend: 'command', command: 'python3 server.py --port ${PORT}' };

test.for<[string, Readonly<Record<string, unknown>>, boolean]>([
  ['a program that is the engine', { ...VLLM, vllm_command: ['vllm'] }, true],
  ['not what starts the engine in turn', { ...VLLM, vllm_command: ['uv', 'run', 'vllm'] }, false],
  ['not the Python of an engine that is a package of it', { ...SGLANG, sglang_command: ['python3', '-m', 'x'] }, false],
  ['a command whose version nobody can ask', COMMAND, true],
])('what stands for the version of an engine: %s', async ([, value, stands], { expect }) => {
  const { program } = await identityOf(model(value), undefined, { programs });
  expect(program !== undefined).toBe(stands);
});

test.for<[string, Readonly<Record<string, unknown>>, string | undefined]>([
  ['vLLM itself', { ...VLLM, vllm_command: ['uv', 'run', 'vllm'] }, 'uv run vllm --version'],
  [
    'the Python that SGLang is installed for',
    { ...SGLANG, sglang_command: ['/venv/bin/python3.12', '-m', 'sglang.launch_server'] },
    '/venv/bin/python3.12 -c import importlib.metadata as m; print(m.version("sglang"))',
  ],
  ['nobody, where a script starts it', { ...SGLANG, sglang_command: ['/usr/local/bin/sglang.sh'] }, undefined],
])('who is asked for the version: %s', async ([, value, expected], { expect }) => {
  const asked: string[] = [];
  const processes = {
    ask: async (words: readonly string[]) => {
      asked.push(words.join(' '));
      return { code: 0, output: '0.5.1\n' };
    },
  };
  expect(await versionOf(model(value), { processes })).toBe(expected === undefined ? undefined : '0.5.1');
  expect(asked).toEqual(expected === undefined ? [] : [expected]);
});
