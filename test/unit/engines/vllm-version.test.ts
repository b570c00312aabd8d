import { test } from 'vitest';
import { knownBad, remedyForLoad, versionOf, wakesInParts } from '../../../src/engines/vllm-version.ts';

test('the leading numbers of a version count, also of builds from source', ({ expect }) => {
  expect(versionOf('0.28.0')).toEqual([0, 28, 0]);
  expect(versionOf('v0.20.1rc2.dev3+gabc')).toEqual([0, 20, 1]);
  expect(versionOf('1.2')).toEqual([1, 2, 0]);
  expect(['dev', '', 'undefined'].map(versionOf)).toEqual([undefined, undefined, undefined]);
});

test.for<[string, string, { lora?: boolean; kvScales?: boolean }, readonly (1 | 2)[]]>([
  ['0.8.2', 'Qwen/Qwen3-14B', {}, []],
  ['0.28.0', 'Qwen/Qwen3-14B', { kvScales: true }, [2]],
  // Whatever its version is, as far as that cannot be read.
  ['', 'google/gemma-4-12b-it', {}, [2]],
  ['', 'openai/gpt-oss-20b', {}, []],
  ['0.13.0', 'Qwen/Qwen3-14B', {}, []],
  ['0.13.0', 'openai/gpt-oss-20b', {}, [2]],
  ['0.14.0', 'Qwen/Qwen3-14B', {}, [1, 2]],
  ['0.16.9', 'Qwen/Qwen3-14B', {}, [1, 2]],
  ['0.17.0', 'openai/gpt-oss-20b', {}, []],
  ['0.29.0', 'google/gemma-4-12b-it', {}, [2]],
  ['0.29.0', 'google/gemma-3-12b-it', {}, []],
  ['0.27.1', 'nvidia/Nemotron-H-8B', { lora: true }, [1]],
  ['0.27.1', 'nvidia/Nemotron-H-8B', {}, []],
  ['0.28.0', 'nvidia/Nemotron-H-8B', { lora: true }, []],
])('vLLM %s with %s %j cannot do %j', ([text, name, { lora = false, kvScales = false }, bad], { expect }) => {
  const version = versionOf(text);
  const found = ([1, 2] as const).filter(
    (level) => knownBad(level, { version, names: [name, 'alpha'], lora, kvScales }) !== undefined,
  );
  expect(found).toEqual(bad);
});

test('one that is too old to wake in parts is woken as a whole', ({ expect }) => {
  expect(['0.8.2', '0.8.3', '0.29.0', 'dev'].map((text) => wakesInParts(versionOf(text)))).toEqual([
    false,
    true,
    true,
    true,
  ]);
});

test('the remedy for a load that ran out of memory is for mixtures of experts from 0.21 on', ({ expect }) => {
  const printed = (version: string) => [`INFO [api_server.py:1] vLLM API server version ${version}`];
  const moe = ['Qwen/Qwen3-30B-A3B'];
  expect(
    ['0.20.1', '0.21.0', '0.29.0rc1'].map((version) => remedyForLoad(moe, printed(version)) !== undefined),
  ).toEqual([false, true, true]);
  expect(remedyForLoad(moe, [])).toBeDefined();
  for (const name of ['Qwen/Qwen3-32B', 'deepseek-ai/DeepSeek-R1-Distill-Qwen-7B', 'meta-llama/Llama-3.1-8B'])
    expect(remedyForLoad([name], printed('0.29.0')), name).toBeUndefined();
});
