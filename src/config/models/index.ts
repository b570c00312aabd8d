import { z } from 'zod';
import { modelName } from '../fields.ts';
import { command, ct2 } from './command.ts';
import { exllamav3 } from './exllamav3.ts';
import { llamaCpp } from './llama-cpp.ts';
import { llamaServer } from './llama-server.ts';
import { openaiRemote } from './openai-remote.ts';
import { sglang } from './sglang.ts';
import { stub } from './stub.ts';
import { vllmServe } from './vllm-serve.ts';

/** Every backend of this version, by the name it has in a config file. */
export const BACKENDS = {
  vllm_serve: vllmServe,
  llama_server: llamaServer,
  llama_cpp: llamaCpp,
  sglang,
  exllamav3,
  ct2,
  command,
  openai_remote: openaiRemote,
  stub,
} as const;

export const ModelsSchema = z.record(
  modelName(),
  z.discriminatedUnion('backend', [
    vllmServe,
    llamaServer,
    llamaCpp,
    sglang,
    exllamav3,
    ct2,
    command,
    openaiRemote,
    stub,
  ]),
);
