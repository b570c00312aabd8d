import type { Link, Links } from '../ports/links.ts';
import type { TrialLevel } from '../ports/verdicts.ts';
import type { Cycle, Held, Limits, Result } from './observed.ts';

/** What moves in one leg, and over what. */
type Moved = { readonly link: Link; readonly mib: number };

type Facts = {
  /** The size of the model's files, where they are here. */
  readonly modelMib: number | undefined;
};

/** Less than this is over before its speed could be told. */
const LEAST_MIB = 1;

/**
 * How often the time that the link alone would take for what moves goes into the time that the leg took: 1 is as fast as the
 * link, and what lay in a cache may be below. Where it is not known what moves, nothing is said.
 */
export async function withLimits(results: readonly Result[], facts: Facts, links: Links): Promise<readonly Result[]> {
  const all: Result[] = [];
  for (const result of results) {
    const { observed, level } = result;
    if (observed === undefined) {
      all.push(result);
      continue;
    }
    const cycles: Cycle[] = [];
    for (const cycle of observed.cycles) cycles.push({ ...cycle, limits: await limitsOf(level, cycle, facts, links) });
    all.push({ ...result, observed: { ...observed, cycles } });
  }
  return all;
}

async function limitsOf(level: TrialLevel, cycle: Cycle, facts: Facts, links: Links): Promise<Limits> {
  const gpuLink = (await links.rate('PCIe')) === undefined ? 'memory copy' : 'PCIe';
  const { sleep, wake } = movedIn(level, cycle, facts, gpuLink);
  const ratio = async (moved: Moved | undefined, secs: number | undefined): Promise<Limits['sleep']> => {
    if (moved === undefined || secs === undefined || moved.mib < LEAST_MIB) return undefined;
    const rate = await links.rate(moved.link);
    return rate === undefined ? undefined : { ...moved, ratio: secs / (moved.mib / rate) };
  };
  return { sleep: await ratio(sleep, secsOf(cycle.sleep)), wake: await ratio(wake, secsOf(cycle.wake)) };
}

type Legs = { readonly sleep?: Moved | undefined; readonly wake?: Moved | undefined };

function movedIn(level: TrialLevel, cycle: Cycle, { modelMib }: Facts, gpuLink: Link): Legs {
  const weights = modelMib === undefined ? undefined : { link: 'page cache read' as const, mib: modelMib };
  const freed = gpuFreed(cycle.before, cycle.asleep);
  switch (level) {
    case 1: {
      // Of what level 1 frees the weights move, and the cache of prompts is dropped.
      const mib = freed === undefined || modelMib === undefined ? undefined : Math.min(freed, modelMib);
      return mib === undefined ? {} : both({ link: gpuLink, mib });
    }
    case 3:
    case '3f':
      return freed === undefined ? {} : both({ link: gpuLink, mib: freed });
    case 4:
    case '4full':
    case '4f':
      return cycle.imageMib === undefined
        ? {}
        : { sleep: { link: 'disk write', mib: cycle.imageMib }, wake: { link: 'disk read', mib: cycle.imageMib } };
    case 2:
    case 'hybrid':
    case 5:
      return { wake: weights };
    default:
      return level satisfies never;
  }
}

const both = (moved: Moved): Legs => ({ sleep: moved, wake: moved });

function gpuFreed(before: Held, asleep: Held | undefined): number | undefined {
  if (asleep === undefined || before.gpu.kind === 'unseen') return undefined;
  if (asleep.gpu.kind === 'unseen') return before.gpu.mib;
  return Math.max(0, before.gpu.mib - asleep.gpu.mib);
}

const secsOf = (done: Cycle['sleep']): number | undefined => (done === undefined ? undefined : done.actMs / 1_000);
