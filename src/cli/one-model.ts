import { EXIT } from '../app/exit.ts';
import { complaint } from '../config/diagnostics.ts';
import { loadConfig } from '../config/load.ts';
import { nearest } from '../config/nearest.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage.ts';

/** The config and one model of it by its name; the exit code where there is no config that can be used. */
export function oneModel(
  files: readonly string[],
  name: string,
  terminal: Terminal,
): { readonly config: Config; readonly name: string; readonly model: ModelConfig } | number {
  const loaded = loadConfig(files, {}, terminal.env);
  if (loaded.kind === 'absent') {
    terminal.err(`catnap: there is no ${loaded.lookedFor.join(' or ')} in this folder. Name a file with --config.\n`);
    return EXIT.usage;
  }
  if (loaded.kind === 'bad') {
    terminal.err(complaint(loaded.problems));
    return EXIT.usage;
  }
  const { config } = loaded;
  const model = config.models[name];
  if (model !== undefined) return { config, name, model };
  const names = Object.keys(config.models);
  const meant = nearest(name, names);
  const hint = meant === undefined ? `There are: ${names.join(', ')}.` : `Did you mean ${meant}?`;
  throw new UsageError(`The config has no model "${name}". ${hint}`);
}
