import type { ModelConfig } from '../config/schema.ts';
import type { SleepLevel } from '../core/kinds.ts';
import { exllamav3RulesOut } from '../engines/exllamav3.ts';
import { sglangRulesOut } from '../engines/sglang.ts';
import { vllmRulesOut } from '../engines/vllm-serve.ts';

/** Levels that the settings of a model rule out, whatever the version of its engine and whatever this machine has, and why. */
export function ruledOut(model: ModelConfig): ReadonlyMap<SleepLevel, string> {
  switch (model.backend) {
    case 'vllm_serve':
      return vllmRulesOut(model);
    case 'sglang':
      return sglangRulesOut(model);
    case 'exllamav3':
      return exllamav3RulesOut(model);
    default:
      return new Map();
  }
}
