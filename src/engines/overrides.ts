import type { LoadOverride } from '../ports/load-override.ts';

/** The settings of a model with what a load asks to be different. */
export function overridden<Settings extends object>(settings: Settings, override: LoadOverride): Settings {
  const values = Object.entries(override).map(([key, value]) => [key, value ?? undefined] as const);
  return { ...settings, ...Object.fromEntries(values) };
}

/** The arguments without these flags and what follows each of them, written in any of the ways that engines read. */
export function withoutFlags(args: readonly string[], flags: ReadonlySet<string>): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    const [name = '', value] = /^([^=]+)=(.*)$/s.exec(word)?.slice(1) ?? [word];
    if (!flags.has(canonical(name))) kept.push(word);
    else if (value === undefined) at++;
  }
  return kept;
}

/** `--max_model_len` is `--max-model-len`, and `--speculative-config.method` is a part of `--speculative-config`. */
function canonical(name: string): string {
  if (!name.startsWith('--')) return name;
  return name.replaceAll('_', '-').split('.', 1)[0] ?? name;
}
