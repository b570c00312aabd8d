import { describe, test } from 'vitest';
import { capabilitiesOf } from '../../../src/api/admin/capabilities.ts';
import { goodConfig } from '../../helpers/config.ts';

const FORMATS = [
  'generic',
  'mistral_template',
  'qwen3_template',
  'gemma4_template',
  'translategemma_template',
] as const;

/** What the config of each backend cannot do without. */
const LEAST: Readonly<Record<string, object>> = {
  vllm_serve: { model_path: 'org/model' },
  vllm: { model_path: 'org/model' },
  llama_server: { model_path: '/m.gguf' },
  llama_cpp: { model_path: '/m.gguf' },
  ct2: { model_path: '/m', command: 'serve ${PORT}' },
  command: { command: 'serve ${PORT}' },
  openai_remote: { url: 'http://127.0.0.1:1/v1' },
  stub: {},
};

function told(backend: string, more: object = {}) {
  const { models } = goodConfig({ models: { a: { backend, ...LEAST[backend], ...more } } });
  const model = models['a'];
  if (model === undefined) throw new Error('there is no such model');
  return capabilitiesOf(model);
}

describe('multi_turn', () => {
  test.for<[backend: string, formats: readonly (string | undefined)[]]>([
    ['vllm_serve', [undefined, 'generic', 'mistral_template', 'qwen3_template', 'gemma4_template', 'other']],
    ['vllm', [undefined, 'generic', 'mistral_template', 'qwen3_template', 'gemma4_template', 'other']],
    ['llama_server', [undefined, 'generic', 'mistral_template', 'qwen3_template', 'gemma4_template', 'other']],
    ['llama_cpp', [undefined, 'generic', 'mistral_template', 'qwen3_template', 'gemma4_template']],
    ['command', [undefined, 'generic', 'mistral_template', 'qwen3_template', 'gemma4_template', 'other']],
    ['ct2', []],
    ['openai_remote', []],
    ['stub', []],
  ])('%s has it with these formats', ([backend, formats], { expect }) => {
    const all = [undefined, ...FORMATS, 'other'];
    const having = all.filter((prompt_format) => told(backend, { prompt_format }).multi_turn);
    expect(having).toEqual(formats);
  });

  test('a model of llama_cpp that sees images has it not', ({ expect }) => {
    const capabilities = { modalities: ['text', 'image'] };
    expect(told('llama_cpp', { capabilities }).multi_turn).toBe(false);
  });
});

describe('thinking_modes', () => {
  test.for<[backend: string, formats: readonly string[]]>([
    ['vllm_serve', ['qwen3_template', 'gemma4_template']],
    ['vllm', ['qwen3_template', 'gemma4_template']],
    ['llama_cpp', ['gemma4_template']],
    ['ct2', ['qwen3_template']],
    ['llama_server', []],
    ['command', []],
    ['openai_remote', []],
    ['stub', []],
  ])('%s takes all of them with these formats', ([backend, formats], { expect }) => {
    expect(told(backend).thinking_modes).toEqual(['default']);
    const having = FORMATS.filter((prompt_format) => told(backend, { prompt_format }).thinking_modes.length > 1);
    expect(having).toEqual(formats);
    for (const prompt_format of formats) {
      expect(told(backend, { prompt_format }).thinking_modes).toEqual(['default', 'enabled', 'disabled']);
    }
  });
});

test('the config has the last word', ({ expect }) => {
  const capabilities = { modalities: ['text', 'image'], multi_turn: true, thinking_modes: ['default', 'disabled'] };
  for (const backend of ['openai_remote', 'stub', 'llama_cpp'])
    expect(told(backend, { capabilities, prompt_format: 'translategemma_template' })).toEqual(capabilities);
});
