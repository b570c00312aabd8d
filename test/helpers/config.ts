import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stageOf, type StageMeans } from '../../src/app/stage-plan.ts';
import { planned, unsurveyed, type StagePlan } from '../../src/app/stages.ts';
import { problemText } from '../../src/config/diagnostics.ts';
import { configFrom, type Loaded } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import type { StageOptions } from '../../src/core/stage-events.ts';

const ENV = { HOME: '/home/somebody' };

/** What a config written in memory comes to. */
export const load = (value: unknown, env: Readonly<Record<string, string>> = {}): Loaded =>
  configFrom(value, 'test', {}, { ...ENV, ...env });

/** The complete config, or a failure that lists what is wrong with it. */
export function goodConfig(value: unknown, env: Readonly<Record<string, string>> = {}): Config {
  const loaded = load(value, env);
  if (loaded.kind === 'loaded') return loaded.config;
  throw new Error(loaded.kind === 'bad' ? loaded.problems.map(problemText).join('\n') : loaded.kind);
}

/** Every problem as one line, without its file. */
export function problemsOf(value: unknown, env: Readonly<Record<string, string>> = {}): string[] {
  const loaded = load(value, env);
  return loaded.kind === 'bad' ? loaded.problems.map((problem) => problemText({ ...problem, file: undefined })) : [];
}

/** Every warning as one line, without its file. */
export function warningsOf(value: unknown): string[] {
  const loaded = load(value);
  return loaded.kind === 'absent' ? [] : loaded.warnings.map((problem) => problemText({ ...problem, file: undefined }));
}

/** A folder with these files in it, gone at the end of the scope. */
export function folderWith(files: Readonly<Record<string, string | Uint8Array>>): Disposable & {
  readonly path: string;
  readonly file: (name: string) => string;
} {
  const path = mkdtempSync(join(tmpdir(), 'catnap-config-'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content);
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** The stages of a config, as they are without a look at the hardware. */
export const plansOf = (config: Config): readonly StagePlan[] => planned(config, unsurveyed(config), () => undefined);

/** What the only stage of a config is told. */
export function onlyStage(config: Config, means?: StageMeans): StageOptions {
  const [plan, another] = plansOf(config);
  if (plan === undefined || another !== undefined) throw new Error('the config has not one stage');
  return stageOf(config, plan, new Map(), means);
}
