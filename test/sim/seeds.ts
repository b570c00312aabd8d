import { readFileSync, writeFileSync } from 'node:fs';

const at = (name: string): URL => new URL(name, import.meta.url);

/** Worlds that once failed, and why. They are run for ever. */
export function readCorpus(): readonly { readonly seed: number; readonly why: string }[] {
  const corpus: unknown = JSON.parse(readFileSync(at('corpus.json'), 'utf8'));
  if (!Array.isArray(corpus)) throw new Error('test/sim/corpus.json is not a list');
  return corpus.map(({ seed, why }: { seed: unknown; why: unknown }) => ({ seed: Number(seed), why: String(why) }));
}

/** For each mutant the first world in which it shows. */
export function readKills(): ReadonlyMap<string, number> {
  const kills: unknown = JSON.parse(readFileSync(at('kills.json'), 'utf8'));
  if (typeof kills !== 'object' || kills === null) throw new Error('test/sim/kills.json is not an object');
  return new Map(Object.entries(kills).map(([name, seed]) => [name, Number(seed)]));
}

export function writeKills(kills: ReadonlyMap<string, number>): void {
  writeFileSync(at('kills.json'), `${JSON.stringify(Object.fromEntries(kills), undefined, 2)}\n`);
}
