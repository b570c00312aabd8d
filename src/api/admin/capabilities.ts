import type { ModelConfig } from '../../config/schema.ts';
import type { Capabilities } from './contract.ts';

const ALL_MODES = ['default', 'enabled', 'disabled'] as const;

/** What a model can do: what the config says, else what its backend and its prompts suggest. */
export function capabilitiesOf(model: ModelConfig): Capabilities {
  const { capabilities: said, prompt_format: format } = model;
  return {
    modalities: [...(said?.modalities ?? (seesImages(model) ? (['text', 'image'] as const) : (['text'] as const)))],
    multi_turn: said?.multi_turn ?? format !== 'translategemma_template',
    thinking_modes: [...(said?.thinking_modes ?? (mayThink(model) ? ALL_MODES : (['default'] as const)))],
  };
}

function seesImages(model: ModelConfig): boolean {
  if (model.backend === 'llama_server') return model.llama_server_mmproj !== undefined;
  if (model.backend !== 'vllm_serve') return false;
  return model.vllm_max_pixels !== undefined || model.vllm_mm_processor_kwargs !== undefined;
}

/** Only where the engine is known to take the wish request by request. */
const mayThink = ({ backend, prompt_format: format }: ModelConfig): boolean =>
  backend === 'vllm_serve' && (format === 'gemma4_template' || format === 'qwen3_template');
