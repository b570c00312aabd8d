import type { ModelConfig } from '../config/schema.ts';
import type { SleepLevel } from '../core/kinds.ts';
import { sglangRulesOut } from '../engines/sglang.ts';
import { vllmRulesOut } from '../engines/vllm-serve.ts';

/** Levels that the settings of a model rule out, whatever the version of its engine and whatever this machine has, and why. */
export function ruledOut(model: ModelConfig): ReadonlyMap<SleepLevel, string> {
  if (model.backend === 'vllm_serve') return vllmRulesOut(model);
  return model.backend === 'sglang' ? sglangRulesOut(model) : new Map();
}
