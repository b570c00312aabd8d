import type { ModelId } from '../core/kinds.ts';
import type { VllmServeModel } from '../config/schema.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { Programs } from '../ports/programs.ts';
import { valueOf } from './command-line.ts';
import { answersOk, bearer, missing, revealed } from './served.ts';
import { leastWork } from './sign-of-life.ts';
import type { Family } from './supervised.ts';

type VllmMeans = { readonly http: EngineHttp; readonly programs: Programs };

/** It reads no colours, reports to nobody, and its last word on a repeated flag is the user's. */
const QUIET = { NO_COLOR: '1', VLLM_NO_USAGE_STATS: '1', DO_NOT_TRACK: '1' };

/** vLLM as `vllm serve` starts it. Its health route answers as long as its web server lives, so only work proves it alive. */
export function vllmServe(model: ModelId, config: VllmServeModel, means: VllmMeans): Family {
  const { vllm_command: command, extra_args: extra } = config;
  const servedName =
    valueOf(extra, ['--served-model-name', '--served_model_name']) ?? config.served_model_name ?? model;
  const key = config.api_key?.reveal();
  const headers = bearer(valueOf(extra, ['--api-key', '--api_key']) ?? key);
  return {
    name: 'vLLM',
    readinessPath: '/health',
    isReady: answersOk,
    servedName,
    headers,
    stopCommand: undefined,
    async launch(port) {
      const [program] = command;
      if ((await means.programs.find(program)) === undefined) throw missing(program, 'vLLM', 'vllm_command');
      const own = ['--port', String(port), '--host', '127.0.0.1', '--served-model-name', servedName];
      const env = { ...QUIET, ...(key === undefined ? {} : { VLLM_API_KEY: key }), ...revealed(config.env) };
      return { argv: [...command, 'serve', config.model_path, ...own, ...extra], env, cwd: undefined };
    },
    async prove({ origin, signal }) {
      return (await leastWork({ http: means.http, origin, servedName, headers, signal })) !== 'silent';
    },
  };
}
