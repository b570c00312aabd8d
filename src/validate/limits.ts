import type { Link, Links } from '../ports/links.ts';
import type { TrialLevel } from '../ports/verdicts.ts';
import type { Cycle, Held, Limits, Result } from './observed.ts';

/** What moves in one leg, and over what. */
type Moved = {
  readonly link: Link;
  readonly mib: number;
  /** How much of it moves to or from each GPU; each has a link of its own, and all work side by side. */
  readonly byGpu?: ReadonlyMap<string, number>;
};

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
    const { link, mib, byGpu } = moved;
    const least = await leastSecs(moved, links);
    const gpus = link === 'PCIe' && byGpu !== undefined && byGpu.size > 1 ? byGpu.size : undefined;
    return least === undefined ? undefined : { link, mib, ratio: secs / least, ...(gpus !== undefined && { gpus }) };
  };
  return { sleep: await ratio(sleep, secsOf(cycle.sleep)), wake: await ratio(wake, secsOf(cycle.wake)) };
}

/** What the link takes alone; of several the one that takes longest. */
async function leastSecs({ link, mib, byGpu }: Moved, links: Links): Promise<number | undefined> {
  const whole = await links.rate(link);
  if (link !== 'PCIe' || byGpu === undefined || byGpu.size === 0) return whole === undefined ? undefined : mib / whole;
  const each = await Promise.all(
    [...byGpu].map(async ([gpu, part]) => {
      const rate = (await links.rate(link, gpu)) ?? whole;
      return rate === undefined ? undefined : part / rate;
    }),
  );
  const known = each.filter((secs) => secs !== undefined);
  return known.length < each.length ? undefined : Math.max(...known);
}

type Legs = { readonly sleep?: Moved | undefined; readonly wake?: Moved | undefined };

function movedIn(level: TrialLevel, cycle: Cycle, { modelMib }: Facts, gpuLink: Link): Legs {
  const weights = modelMib === undefined ? undefined : { link: 'page cache read' as const, mib: modelMib };
  const freed = gpuFreed(cycle.before, cycle.asleep);
  switch (level) {
    case 1: {
      // Of what level 1 frees the weights move, and the cache of prompts is dropped.
      if (freed === undefined || modelMib === undefined) return {};
      const share = Math.min(1, modelMib / sum(freed));
      return both(gpuLink, new Map([...freed].map(([gpu, mib]) => [gpu, mib * share])));
    }
    case 3:
    case '3f':
      return freed === undefined ? {} : both(gpuLink, freed);
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

function both(link: Link, byGpu: ReadonlyMap<string, number>): Legs {
  const moved = { link, mib: sum(byGpu), byGpu };
  return { sleep: moved, wake: moved };
}

/** How much less of each GPU it holds. One that is not listed any more holds nothing, whoever else is on its GPUs. */
function gpuFreed(before: Held, asleep: Held | undefined): ReadonlyMap<string, number> | undefined {
  if (asleep === undefined || before.gpu.kind === 'unseen') return undefined;
  const left = asleep.gpu.kind === before.gpu.kind ? asleep.gpu.byGpu : {};
  const freed = Object.entries(before.gpu.byGpu).map(([gpu, mib]) => [gpu, mib - (left[gpu] ?? 0)] as const);
  return new Map(freed.filter(([, mib]) => mib > 0));
}

const sum = (byGpu: ReadonlyMap<string, number>): number => [...byGpu.values()].reduce((total, mib) => total + mib, 0);

const secsOf = (done: Cycle['sleep']): number | undefined => (done === undefined ? undefined : done.actMs / 1_000);
