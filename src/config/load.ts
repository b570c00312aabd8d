import { existsSync } from 'node:fs';
import { join, parse } from 'node:path';
import { located, type Problem, type Source } from './diagnostics.ts';
import type { Env } from './engine-key.ts';
import { merged, valueAt } from './values.ts';
import type { Path } from './place.ts';
import { resolveConfig } from './resolve.ts';
import type { Config } from './schema.ts';
import { readSource } from './source.ts';

/** What the options of the command line set over every file. */
type Overrides = { readonly port?: number | undefined };

export type Loaded =
  | {
      readonly kind: 'loaded';
      readonly config: Config;
      readonly warnings: readonly Problem[];
      /** The files it was made of, in the order they were merged. */
      readonly sources: readonly string[];
      /** Whether somebody wrote what is at a path, rather than leaving the default. */
      readonly wrote: (...path: Path) => boolean;
    }
  | {
      readonly kind: 'bad';
      /** Everything that is wrong, in one list. */
      readonly problems: readonly Problem[];
      readonly warnings: readonly Problem[];
    }
  /** No file was named, and none of those looked for is there. */
  | { readonly kind: 'absent'; readonly lookedFor: readonly string[] };

const DEFAULT_FILES = ['config.json', 'config.yaml', 'config.yml'] as const;

/**
 * Reads the config: the files named, or else the first default file that is in the folder.
 * `X.local.json` beside `X.json` lies over it, a later file over an earlier one, the command line over all.
 */
export function loadConfig(paths: readonly string[], overrides: Overrides, env: Env, folder = ''): Loaded {
  const files = paths.length > 0 ? paths : defaultFile(folder);
  if (files.length === 0) return { kind: 'absent', lookedFor: DEFAULT_FILES };
  const problems: Problem[] = [];
  const sources = files.flatMap((file) => [...read(file, problems), ...readIfThere(localOf(file), problems)]);
  if (problems.length > 0) return { kind: 'bad', problems, warnings: [] };
  return configOf(sources, overrides, env);
}

/** Every file that a config is read from, those included that are not there. */
export const configFiles = (paths: readonly string[], folder = ''): readonly string[] =>
  (paths.length > 0 ? paths : DEFAULT_FILES.map((file) => join(folder, file))).flatMap((file) => [file, localOf(file)]);

/** The config that a value in memory stands for, such as an embedded default. */
export function configFrom(value: unknown, name: string, overrides: Overrides, env: Env): Loaded {
  return configOf([{ name, value, places: new Map([['', undefined]]) }], overrides, env);
}

function configOf(sources: readonly Source[], overrides: Overrides, env: Env): Loaded {
  const all = [...sources, commandLine(overrides)];
  const raw = all.map(({ value }) => value).reduce(merged);
  const resolved = resolveConfig(raw, env);
  const warnings = located(resolved.warnings, all);
  if (resolved.kind === 'bad') return { kind: 'bad', problems: located(resolved.findings, all), warnings };
  return {
    kind: 'loaded',
    config: resolved.config,
    warnings,
    sources: sources.map(({ name }) => name),
    wrote: (...path) => valueAt(raw, path) !== undefined,
  };
}

const defaultFile = (folder: string): readonly string[] =>
  DEFAULT_FILES.map((file) => join(folder, file))
    .filter((file) => existsSync(file))
    .slice(0, 1);

/** `config.local.json` for `config.json`. */
function localOf(file: string): string {
  const { dir, name, ext } = parse(file);
  return join(dir, `${name}.local${ext}`);
}

function read(file: string, problems: Problem[]): readonly Source[] {
  if (existsSync(file)) return readIfThere(file, problems);
  problems.push({ file, path: '', message: 'there is no such file' });
  return [];
}

function readIfThere(file: string, problems: Problem[]): readonly Source[] {
  if (!existsSync(file)) return [];
  const result = readSource(file);
  if (result.kind === 'read') return [result.source];
  problems.push(...result.problems);
  return [];
}

const commandLine = ({ port }: Overrides): Source =>
  port === undefined
    ? { name: 'command line', value: {}, places: new Map() }
    : { name: 'command line', value: { port }, places: new Map([['port', undefined]]) };
