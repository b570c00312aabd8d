import { examine } from '../app/doctor.ts';
import { EXIT } from '../app/exit.ts';
import { complaint } from '../config/diagnostics.ts';
import { configFrom, loadConfig } from '../config/load.ts';
import type { Terminal } from './terminal.ts';
import { ownVersion } from './version.ts';

type DoctorWords = { readonly config: readonly string[]; readonly json: boolean };

/** Tells what this machine has, and what of the config can work on it. Without a config, only the machine. */
export async function doctor({ config: files, json }: DoctorWords, terminal: Terminal): Promise<number> {
  const own = loadConfig(files, {}, terminal.env);
  const loaded =
    own.kind === 'absent'
      ? configFrom({ models: { none: { backend: 'stub' } } }, 'the defaults', {}, terminal.env)
      : own;
  if (loaded.kind !== 'loaded') {
    terminal.err(loaded.kind === 'bad' ? complaint(loaded.problems) : 'catnap: there is no config.\n');
    return EXIT.usage;
  }
  return examine({
    config: loaded.config,
    hasModels: own.kind === 'loaded',
    version: ownVersion(),
    json,
    out: (text) => terminal.out(text),
  });
}
