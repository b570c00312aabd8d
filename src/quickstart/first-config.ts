import type { ConfigInput, ModelInput } from '../config/schema.ts';
import type { Quickstart } from './quickstart.ts';

/** The config of a first run: `alpha` and `beta`, on the default port. */
export function quickstartConfig(quickstart: Quickstart): ConfigInput {
  if (quickstart.kind === 'stub') return { models: { alpha: { backend: 'stub' }, beta: { backend: 'stub' } } };
  const { server, models } = quickstart;
  return {
    llama_server_command: server.path,
    models: { alpha: tinyModel(models.alpha), beta: tinyModel(models.beta) },
  };
}

function tinyModel(file: string): ModelInput {
  return {
    backend: 'llama_server',
    model_path: file,
    llama_server_n_ctx: 8_192,
    // A second thread makes models of this size slower.
    extra_args: ['--threads', '1'],
  };
}

/** What to type to see a swap. */
export function curlLines(port: number): string {
  return ['alpha', 'beta', 'alpha'].map((model) => `${curl(port, model)}\n`).join('');
}

function curl(port: number, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  return `curl http://127.0.0.1:${port}/v1/chat/completions -H 'content-type: application/json' -d '${body}'`;
}
