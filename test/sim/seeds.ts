import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { POLICY_NAMES } from '../../src/core/policy/index.ts';

const at = (name: string): URL => new URL(name, import.meta.url);

const Corpus = z.array(
  z.strictObject({
    seed: z.int(),
    policy: z.enum(POLICY_NAMES).exactOptional(),
    urgency: z.boolean().exactOptional(),
    deadlines: z.boolean().exactOptional(),
    losses: z.boolean().exactOptional(),
    extras: z.boolean().exactOptional(),
    reloads: z.boolean().exactOptional(),
    freezes: z.boolean().exactOptional(),
    overlap: z.boolean().exactOptional(),
    handovers: z.boolean().exactOptional(),
    why: z.string(),
  }),
);

/** Worlds that once failed, of which kind, and why. They are run for ever. */
export const readCorpus = (): z.infer<typeof Corpus> =>
  Corpus.parse(JSON.parse(readFileSync(at('corpus.json'), 'utf8')));

/** For each mutant the first world in which it shows. */
export function readKills(): ReadonlyMap<string, number> {
  const kills: unknown = JSON.parse(readFileSync(at('kills.json'), 'utf8'));
  if (typeof kills !== 'object' || kills === null) throw new Error('test/sim/kills.json is not an object');
  return new Map(Object.entries(kills).map(([name, seed]) => [name, Number(seed)]));
}

export function writeKills(kills: ReadonlyMap<string, number>): void {
  writeFileSync(at('kills.json'), `${JSON.stringify(Object.fromEntries(kills), undefined, 2)}\n`);
}
