import { join } from 'node:path';
import { KeptConversations } from '../adapters/conversations.ts';
import type { Config } from '../config/schema.ts';
import { engineId, modelId, type EngineId } from '../core/kinds.ts';

const MIB = 1_048_576;

/** Where conversations are kept. */
export const conversationsOf = (config: Pick<Config, 'state_dir' | 'keep_kv_max_mib'>): KeptConversations =>
  new KeptConversations({ folder: join(config.state_dir, 'conversations'), maxBytes: config.keep_kv_max_mib * MIB });

/** The engines whose conversations are. */
export function keepers({ models }: Pick<Config, 'models'>): readonly EngineId[] {
  return Object.entries(models).flatMap(([name, model]) =>
    'keep_kv' in model && model.keep_kv
      ? Array.from({ length: model.replicas }, (_, replica) => engineId(modelId(name), replica))
      : [],
  );
}
