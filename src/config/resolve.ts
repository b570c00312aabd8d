import { CAUTIONS, CHECKS } from './checks/index.ts';
import type { CheckFinding } from './checks/check.ts';
import { completed } from './complete.ts';
import type { Finding } from './diagnostics.ts';
import type { Env } from './engine-key.ts';
import { findingsOf } from './findings.ts';
import { deepFreeze } from './freeze.ts';
import { isFields, valueAt } from './values.ts';
import { pathText, type Path } from './place.ts';
import { ConfigSchema, type Config, type ConfigWritten } from './schema.ts';

type Resolved =
  | { readonly kind: 'good'; readonly config: Config; readonly warnings: readonly Finding[] }
  | { readonly kind: 'bad'; readonly findings: readonly Finding[]; readonly warnings: readonly Finding[] };

/**
 * From what was written to what the code gets, or to everything that is wrong with it.
 * The checks between keys also run on a config with wrong keys, with those left out, so that one run shows every problem.
 */
export function resolveConfig(raw: unknown, env: Env): Resolved {
  const parsed = ConfigSchema.safeParse(raw);
  if (parsed.success) return checked(parsed.data, raw, env, []);
  const findings = findingsOf(parsed.error.issues, raw);
  const sound = withoutDamage(raw, findings);
  return sound === undefined ? { kind: 'bad', findings, warnings: [] } : checked(sound, raw, env, findings);
}

function checked(written: ConfigWritten, raw: unknown, env: Env, damage: readonly Finding[]): Resolved {
  const complete = completed(written, env);
  const config = deepFreeze(complete.config);
  const subject = { config, written, wrote: (path: Path) => valueAt(raw, path) !== undefined };
  const told = (found: readonly CheckFinding[]): Finding[] => found.filter((finding) => !touches(finding, damage));
  const findings = [...damage, ...told(complete.findings), ...told(CHECKS.flatMap((check) => check(subject)))];
  const warnings = told(CAUTIONS.flatMap((check) => check(subject)));
  return findings.length === 0 ? { kind: 'good', config, warnings } : { kind: 'bad', findings, warnings };
}

/** What is right in a config: models and top-level keys that something is wrong with are left out. */
function withoutDamage(raw: unknown, findings: readonly Finding[]): ConfigWritten | undefined {
  if (!isFields(raw)) return undefined;
  const models: Record<string, unknown> = isFields(raw['models']) ? { ...raw['models'] } : {};
  const rest: Record<string, unknown> = { ...raw };
  for (const { path } of findings) {
    const [first, second] = path;
    if (first === 'models' && second !== undefined) delete models[second];
    else if (first !== undefined) delete rest[first];
  }
  const parsed = ConfigSchema.safeParse({ ...rest, models });
  return parsed.success ? parsed.data : undefined;
}

/** Whether a finding is about something that was left out, and could be a mere consequence of that. */
function touches({ path, also }: CheckFinding, damage: readonly Finding[]): boolean {
  const left = damage.map(({ path: [first, second] }) => unit(first, second));
  return [path, also ?? path].some(([first, second]) => {
    const mine = unit(first, second);
    return left.some((other) => mine === other || (mine === 'models' && other.startsWith('models')));
  });
}

/** What is left out as a whole: a model, or a top-level key. */
const unit = (first: string | number | undefined, second: string | number | undefined): string =>
  pathText([first ?? '', ...(first === 'models' && second !== undefined ? [second] : [])]);
