import type { ModelConfig } from '../../config/schema.ts';
import type { Capabilities } from './contract.ts';

const ALL_MODES = ['default', 'enabled', 'disabled'] as const;

/** What a model can do: what the config says, else what its backend and its prompts suggest. */
export function capabilitiesOf(model: ModelConfig): Capabilities {
  const { capabilities: said } = model;
  const modalities = said?.modalities ?? (seesImages(model) ? (['text', 'image'] as const) : (['text'] as const));
  return {
    modalities: [...modalities],
    multi_turn: said?.multi_turn ?? converses(model, modalities.length > 1),
    thinking_modes: [...(said?.thinking_modes ?? (mayThink(model) ? ALL_MODES : (['default'] as const)))],
  };
}

function seesImages(model: ModelConfig): boolean {
  if (model.backend === 'llama_server') return model.llama_server_mmproj !== undefined;
  if (model.backend !== 'vllm_serve') return false;
  return model.vllm_max_pixels !== undefined || model.vllm_mm_processor_kwargs !== undefined;
}

/** Formats of llama_cpp whose template takes a conversation. */
const CHATS = new Set([undefined, 'generic', 'mistral_template', 'qwen3_template', 'gemma4_template']);

/** Backends of which it is not promised that they take a conversation. */
const ONE_TURN: ReadonlySet<string> = new Set(['exllamav3', 'ct2', 'openai_remote', 'stub']);

function converses({ backend, prompt_format: format }: ModelConfig, images: boolean): boolean {
  if (format === 'translategemma_template') return false;
  return backend === 'llama_cpp' ? !images && CHATS.has(format) : !ONE_TURN.has(backend);
}

/** The formats with which a backend is known to take the wish request by request. */
const THINKERS: Readonly<Record<string, readonly string[]>> = {
  vllm_serve: ['gemma4_template', 'qwen3_template'],
  exllamav3: ['gemma4_template', 'qwen3_template'],
  llama_cpp: ['gemma4_template'],
  ct2: ['qwen3_template'],
};

const mayThink = ({ backend, prompt_format: format }: ModelConfig): boolean =>
  format !== undefined && THINKERS[backend]?.includes(format) === true;
