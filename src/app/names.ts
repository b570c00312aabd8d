import type { MayUse } from '../access/key.ts';
import { capabilitiesOf } from '../api/admin/capabilities.ts';
import { catalogueOf, type CatalogueEntry, type Meaning } from '../config/catalogue.ts';
import type { Config } from '../config/schema.ts';
import { awakeOne, choose } from '../proxy/choose.ts';
import type { Gate, Target } from '../proxy/gate.ts';
import type { StageView } from '../runtime/view.ts';
import { rewriteOf } from './rewrite-of.ts';
import { ms, msOrNever } from './times.ts';

type Targets = readonly [Target, ...Target[]];

/** What the names of the config stand for, at the moment they are asked about. */
export function namesOf(config: Config, look: () => StageView): Pick<Gate, 'find' | 'unnamed'> {
  const catalogue = catalogueOf(config);
  const all = catalogue.entries.map((entry) => targetOf(entry, undefined));
  const known = new Map<Meaning, Targets>();

  const targetsOf = (meaning: Meaning): Targets => {
    const seen = known.get(meaning);
    if (seen !== undefined) return seen;
    const { params } = meaning;
    const [first, ...others] = meaning.models;
    const targets: Targets = [targetOf(first, params), ...others.map((entry) => targetOf(entry, params))];
    known.set(meaning, targets);
    return targets;
  };

  const find = (name: string, mayUse?: MayUse): Target | undefined => {
    const meaning = catalogue.resolve(name);
    if (meaning === undefined) return undefined;
    const targets = targetsOf(meaning);
    if (mayUse === undefined) return choose(targets, meaning.prefer, look);
    const [first, ...others] = targets.filter(({ model }) => mayUse(name, model));
    return first && choose([first, ...others], meaning.prefer, look);
  };

  const unnamed = (mayUse?: MayUse): Target | 'nobody' | 'nobody-awake' => {
    const { default_model: name } = config;
    if (name === 'none') return 'nobody';
    if (name !== 'awake') return find(name, mayUse) ?? 'nobody';
    const usable = mayUse === undefined ? all : all.filter(({ model }) => mayUse(model, model));
    return awakeOne(usable, look) ?? 'nobody-awake';
  };

  return { find, unnamed };
}

function targetOf({ id, config }: CatalogueEntry, params: Meaning['params']): Target {
  return {
    model: id,
    enabled: config.enabled,
    responseMs: ms(config.response_timeout_secs),
    idleMs: msOrNever(config.idle_timeout_secs),
    totalMs: msOrNever(config.total_timeout_secs),
    rewrite: rewriteOf(config, params),
    thinking: {
      modes: capabilitiesOf(config).thinking_modes,
      // Whoever is far away may be another catnap, or something else that reads the word.
      told: config.backend === 'openai_remote' ? 'as it is' : 'template',
    },
    translates: config.prompt_format === 'translategemma_template',
  };
}
