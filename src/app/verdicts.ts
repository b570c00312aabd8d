import { join } from 'node:path';
import { verdictBook } from '../adapters/verdict-book.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import { DEPTH } from '../config/sleep-levels.ts';
import type { Processes } from '../ports/process.ts';
import type { Programs } from '../ports/programs.ts';
import type { Verdict, VerdictBook } from '../ports/verdicts.ts';
import { isOpen, levelOf } from '../validate/judge.ts';
import { holds, newest, obeyed } from '../validate/verdicts.ts';
import { notFrozen } from './freezing.ts';
import { driverOf, identityOf, versionOf } from './identity.ts';

type Means = {
  readonly programs: Programs;
  readonly processes: Pick<Processes, 'ask'>;
  readonly warned: (message: string) => void;
};

export const bookIn = (config: Config, warned: (message: string) => void): VerdictBook =>
  verdictBook(join(config.state_dir, 'verdicts.json'), warned);

export type Judged = {
  /** The config with the levels that failed their validation taken out of it. */
  readonly config: Config;
  /** The verdicts that hold now, by model. */
  readonly verdicts: ReadonlyMap<string, readonly Verdict[]>;
};

/** Reads what earlier validations found, and sees to it that it is obeyed. Models without a verdict cost nothing. */
export async function withVerdicts(config: Config, means: Means): Promise<Judged> {
  const verdicts = await verdictsThatHold(config, means);
  const models = Object.entries(config.models).map(([name, model]) => {
    return [name, withoutFailed(name, model, verdicts.get(name) ?? [], config, means.warned)] as const;
  });
  for (const [name, model] of models) {
    const why = notFrozen(config, model, verdicts.get(name) ?? []);
    if (why !== undefined) means.warned(`${name}: experimental.freeze_drain: ${why}; it is drained as ever`);
  }
  return { config: { ...config, models: Object.fromEntries(models) }, verdicts };
}

/** What earlier validations found that is still true of the engines and the driver as they are now, by model. */
export async function verdictsThatHold(config: Config, means: Means): Promise<ReadonlyMap<string, readonly Verdict[]>> {
  const all = await bookIn(config, means.warned).read();
  const concerned = all.filter(({ model }) => config.models[model] !== undefined);
  const verdicts = new Map<string, readonly Verdict[]>();
  if (concerned.length === 0) return verdicts;
  const driver = await driverOf(config, means);
  for (const [name, model] of Object.entries(config.models)) {
    const own = concerned.filter((verdict) => verdict.model === name);
    const holding = own.length === 0 ? [] : await thatHold(own, model, driver, means);
    if (holding.length > 0) verdicts.set(name, holding);
  }
  return verdicts;
}

async function thatHold(
  verdicts: readonly Verdict[],
  model: ModelConfig,
  driver: string | undefined,
  means: Means,
): Promise<readonly Verdict[]> {
  const now = await identityOf(model, driver, means);
  const judged = verdicts.map((verdict) => ({ verdict, holds: holds(verdict, now) }));
  // The program is another file; it may be the same version all the same.
  const version = judged.some((one) => one.holds === 'ask') ? await versionOf(model, means) : undefined;
  return newest(
    judged
      .filter((one) => one.holds === 'yes' || (one.holds === 'ask' && one.verdict.identity.version === version))
      .map(({ verdict }) => verdict),
  );
}

function withoutFailed(
  name: string,
  model: ModelConfig,
  verdicts: readonly Verdict[],
  config: Config,
  warned: (message: string) => void,
): ModelConfig {
  const failed = verdicts.filter((verdict) => !verdict.passed && isInUse(verdict, model, config));
  if (failed.length === 0) return model;
  const { sleep_level: level, levels_allowed: allowed } = model;
  const left = obeyed(
    { wanted: level, allowed },
    failed.map((verdict) => levelOf(verdict.level)),
    DEPTH,
  );
  for (const { level: bad, reason, at } of failed) {
    const used = left.wanted === level || levelOf(bad) !== level ? '' : `; level ${left.wanted} is used in its place`;
    if (levelOf(bad) !== 5)
      warned(`${name}: level ${bad} failed its validation of ${day(at)} and is not used (${reason})${used}`);
    else
      warned(`${name}: level 5 failed its validation of ${day(at)} (${reason}); there is none deeper, so it is used`);
  }
  return { ...model, sleep_level: left.wanted, levels_allowed: left.allowed };
}

/** Level 4 is tried in two forms; the one that the config uses counts. */
export function isInUse({ level }: Verdict, { backend }: ModelConfig, { checkpoint }: Config): boolean {
  if (isOpen(level)) return false;
  // Without a sleep of its own to go first, both are the same.
  if (backend !== 'vllm_serve') return true;
  return level === '4full' ? checkpoint.sleep_first === 'none' : level !== 4 || checkpoint.sleep_first === 2;
}

const day = (at: Date): string => at.toISOString().slice(0, 10);
