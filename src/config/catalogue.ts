import { modelId, type ModelId } from '../core/kinds.ts';
import type { AliasConfig, Config, ModelConfig } from './schema.ts';
import { fitsPattern, moreTelling } from './wildcard.ts';

/** One model of the config under the name it has everywhere. */
export type CatalogueEntry = { readonly id: ModelId; readonly config: ModelConfig };

/** What is done to the parameters of requests. */
export type Params = Pick<ModelConfig, 'set_params' | 'strip_params' | 'default_params'>;

/** What a name stands for: one model, or several of which one is chosen for each request. */
export type Meaning = {
  readonly models: readonly [CatalogueEntry, ...CatalogueEntry[]];
  readonly prefer: AliasConfig['prefer'];
  /** What requests under this name get besides what their model says. */
  readonly params: Params | undefined;
};

/** Which models there are, and what clients may call them. */
export type Catalogue = {
  /** In the order of the config. */
  readonly entries: readonly CatalogueEntry[];
  /** What a client means by a name: a model's own, else an alias to the letter, else the most telling pattern. */
  resolve(name: string): Meaning | undefined;
};

export function catalogueOf({ models, aliases }: Pick<Config, 'models' | 'aliases'>): Catalogue {
  const entries = Object.entries(models).map(([name, config]) => ({ id: modelId(name), config }));
  const byId = new Map<string, CatalogueEntry>(entries.map((entry) => [entry.id, entry]));
  const meanings = new Map<string, Meaning>();
  for (const entry of entries) for (const alias of entry.config.aliases) meanings.set(alias, only(entry));
  for (const [alias, { models: names, prefer, ...params }] of Object.entries(aliases)) {
    const [first, ...others] = names.flatMap((name) => byId.get(name) ?? []);
    if (first !== undefined) meanings.set(alias, { models: [first, ...others], prefer, params });
  }
  const patterns = [...meanings.keys()].filter((alias) => alias.includes('*')).toSorted(moreTelling);
  for (const entry of entries) meanings.set(entry.id, only(entry));
  return {
    entries,
    resolve: (name) => meanings.get(name) ?? meanings.get(patterns.find((pattern) => fitsPattern(pattern, name)) ?? ''),
  };
}

const only = (entry: CatalogueEntry): Meaning => ({ models: [entry], prefer: 'first', params: undefined });
