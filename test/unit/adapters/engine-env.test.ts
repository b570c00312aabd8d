import { describe, test } from 'vitest';
import { engineEnvironment, inheritedFrom } from '../../../src/adapters/engine-env.ts';

describe('the environment of an engine', () => {
  test.for([
    'npm_config_cache',
    'npm_lifecycle_event',
    'INIT_CWD',
    'NODE_OPTIONS',
    'NODE_ENV',
    'LLAMA_ARG_PORT',
    'LLAMA_API_KEY',
    'LLAMA_SERVER_ROUTER_PORT',
    'LLAMA_APP_CMD',
    'AIP_MODE',
    'AIP_HTTP_PORT',
    'CATNAP_LOG',
    'CATNAP_ENGINE',
    'VLLM_API_KEY',
    'VLLM_PORT',
    'VLLM_PORT_8000_TCP',
    'VLLM_SERVICE_HOST',
    'OPENAI_API_KEY',
    'AWS_SECRET_ACCESS_KEY',
    'LD_PRELOAD',
  ])('%s is not inherited', (name, { expect }) => {
    expect(inheritedFrom({ [name]: 'x' })).toEqual({});
  });

  test.for([
    'HOME',
    'LC_ALL',
    'TMPDIR',
    'TZ',
    'LD_LIBRARY_PATH',
    'CUDA_VISIBLE_DEVICES',
    'HIP_VISIBLE_DEVICES',
    'HSA_OVERRIDE_GFX_VERSION',
    'VK_ICD_FILENAMES',
    'HF_TOKEN',
    'HUGGINGFACE_HUB_CACHE',
    'XDG_CACHE_HOME',
    'LLAMA_CACHE',
    'https_proxy',
    'SSL_CERT_FILE',
    'VLLM_LOGGING_LEVEL',
    'OMP_NUM_THREADS',
    'GGML_CUDA_ENABLE_UNIFIED_MEMORY',
  ])('%s is inherited', (name, { expect }) => {
    expect(inheritedFrom({ [name]: 'x' })).toEqual({ [name]: 'x' });
  });

  test('PATH loses the folders that npm puts there, and nothing else', ({ expect }) => {
    const npm = [
      '/p/node_modules/.bin',
      '/node_modules/.bin/',
      '/n/@npmcli/run-script/lib/node-gyp-bin',
      'node_modules/.bin',
    ];
    const kept = ['/p/node_modules/.bin-other', '/usr/bin', '/opt/node_modules', '~/bin'];
    const path = [npm[0], kept[0], npm[1], npm[2], kept[1], kept[2], npm[3], kept[3]].join(':');
    expect(inheritedFrom({ PATH: path })).toEqual({ PATH: kept.join(':') });
  });

  test('the config may add anything but another mark', ({ expect }) => {
    const env = engineEnvironment(
      { HOME: '/home/a', TZ: 'UTC', EMPTY: undefined },
      { LLAMA_ARG_THREADS: '2', TZ: 'CET', CATNAP_ENGINE: 'mine' },
      'mark',
    );
    expect(env).toEqual({ HOME: '/home/a', TZ: 'CET', LLAMA_ARG_THREADS: '2', CATNAP_ENGINE: 'mark' });
  });
});
