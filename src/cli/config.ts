import { complaint, problemText, type Problem } from '../config/diagnostics.ts';
import { writeFileSync } from 'node:fs';
import { importConfig } from '../config/import/index.ts';
import { configJsonSchema } from '../config/json-schema.ts';
import { loadConfig } from '../config/load.ts';
import { EXIT } from '../app/exit.ts';
import type { Terminal } from './terminal.ts';
import { list } from './words.ts';

type ImportOptions = { readonly file: string; readonly out: string | undefined; readonly force: boolean };
type CheckOptions = { readonly config: readonly string[]; readonly json: boolean };

/** Reads the config as serving would, and starts nothing. */
export function configCheck({ config, json }: CheckOptions, terminal: Terminal): number {
  const loaded = loadConfig(config, {}, terminal.env);
  const problems =
    loaded.kind === 'absent' ? [missing(loaded.lookedFor)] : loaded.kind === 'bad' ? loaded.problems : [];
  const warnings = loaded.kind === 'absent' ? [] : loaded.warnings;
  const sources = loaded.kind === 'loaded' ? loaded.sources : [];
  const models = loaded.kind === 'loaded' ? Object.keys(loaded.config.models) : [];
  const ok = loaded.kind === 'loaded';
  if (json) {
    terminal.out(`${JSON.stringify({ ok, sources, models, problems, warnings }, undefined, 2)}\n`);
  } else {
    for (const warning of warnings) terminal.err(`warning: ${problemText(warning)}\n`);
    if (ok) terminal.out(`${list(sources)} can be served: ${summary(models)}\n`);
    else terminal.err(complaint(problems));
  }
  return ok ? EXIT.ok : EXIT.usage;
}

/** Writes somebody else's config as ours, and says what could not be carried over. */
export function configImport({ file, out, force }: ImportOptions, terminal: Terminal): number {
  const imported = importConfig(file, terminal.env);
  if (imported.kind === 'bad') {
    terminal.err(complaint(imported.problems));
    return EXIT.usage;
  }
  const { from, text, notes, problems } = imported;
  if (out === undefined) terminal.out(text);
  else {
    try {
      writeFileSync(out, text, { flag: force ? 'w' : 'wx', mode: 0o600 });
    } catch (error) {
      const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
      const why = isThere ? 'is there already: `--force` writes over it' : `cannot be written: ${String(error)}`;
      terminal.err(`${out} ${why}\n`);
      return EXIT.usage;
    }
  }
  terminal.err(`Read as a config of ${from}.\n`);
  for (const note of notes) terminal.err(`- ${note}\n`);
  if (problems.length === 0) return EXIT.ok;
  terminal.err('The result cannot be served as it is:\n');
  for (const problem of problems) terminal.err(`- ${problem}\n`);
  return EXIT.failed;
}

/** The JSON Schema of the config, for editors. */
export function configSchema(terminal: Terminal): number {
  terminal.out(`${JSON.stringify(configJsonSchema(), undefined, 2)}\n`);
  return EXIT.ok;
}

function missing(lookedFor: readonly string[]): Problem {
  return {
    path: '',
    message: `there is no ${lookedFor.join(' or ')} in this folder`,
    fix: 'Name a file with --config.',
  };
}

function summary(models: readonly string[]): string {
  return models.length === 1 ? `1 model (${list(models)})` : `${models.length} models (${list(models)})`;
}
