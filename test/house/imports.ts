import { dirname, join, normalize } from 'node:path';
import { ROOMS } from './rooms.ts';
import { lineAt, type SourceFile } from './source-files.ts';

export type Import = {
  readonly from: string;
  readonly line: number;
  /** A path under src for files of ours, else the package as written. */
  readonly target: string;
  readonly ours: boolean;
  readonly typeOnly: boolean;
};

const STATIC = /^(?:import|export)\s+(type\s)?(?:[^;'"]*?\sfrom\s+)?'([^']+)'/gm;
const DYNAMIC = /\b(?:import|require)\(\s*['"`]([^'"`]+)['"`]/g;

/** Everything a file imports: statements, re-exports and `import()`. */
export function importsOf({ path, text }: SourceFile): Import[] {
  const found = [
    ...[...text.matchAll(STATIC)].map((match) => ({ match, target: match[2], typeOnly: match[1] !== undefined })),
    ...[...text.matchAll(DYNAMIC)].map((match) => ({ match, target: match[1], typeOnly: false })),
  ];
  return found.map(({ match, target = '', typeOnly }) => {
    const ours = target.startsWith('.');
    const resolved = ours ? normalize(join(dirname(path), target)) : target;
    return { from: path, line: lineAt(text, match.index), target: resolved, ours, typeOnly };
  });
}

/** The room of a file under src; undefined for a file that lies in none. */
export function roomOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

/** Why an import is against the table, or undefined when it is not. */
export function offence({ from, line, target, ours, typeOnly }: Import): string | undefined {
  const here = roomOf(from);
  const room = here === undefined ? undefined : ROOMS[here];
  const place = `${from}:${line}`;
  if (here === undefined || room === undefined) return `${place} lies in no room of test/house/rooms.ts`;
  if (!ours) {
    return allowsPackage(room.packages, target) ? undefined : `${place} ${here} may not import the package ${target}`;
  }
  if (roomOf(target) === here) return undefined;
  if (isAmong(target, room.values)) return undefined;
  if (!isAmong(target, room.types)) return `${place} ${here} may not import ${target}`;
  return typeOnly ? undefined : `${place} ${here} may import types only from ${target}; write import type`;
}

function isAmong(target: string, names: readonly string[]): boolean {
  return names.some((name) => target.startsWith(`src/${name}/`) || target === `src/${name}.ts`);
}

function allowsPackage(allowed: readonly string[], target: string): boolean {
  const isNode = target.startsWith('node:');
  const name = isNode
    ? target
    : target
        .split('/')
        .slice(0, target.startsWith('@') ? 2 : 1)
        .join('/');
  return allowed.includes(isNode ? 'node' : 'npm') || allowed.includes(name);
}

/** The first circle of value imports that is found, as a path of files that ends where it began. */
export function findCycle(imports: readonly Import[]): readonly string[] | undefined {
  const edges = new Map<string, string[]>();
  for (const { from, target, ours, typeOnly } of imports) {
    if (ours && !typeOnly) edges.set(from, [...(edges.get(from) ?? []), target]);
  }
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const next of edges.get(file) ?? []) {
      const cycle = walk(next, [...path, file]);
      if (cycle !== undefined) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of edges.keys()) {
    const cycle = walk(file, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
