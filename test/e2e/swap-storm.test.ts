import { requireCriu } from '../helpers/criu.ts';
import { test } from '../helpers/e2e.ts';
import { Lab } from '../helpers/lab.ts';
import { chance, stormConfig, swapStorm } from '../helpers/swap-storm.ts';

const SWAPS = Number(process.env['STORM_SWAPS'] ?? 40);
const SEED = Number(process.env['STORM_SEED'] ?? 7);
/** Of five models each, for storms of other seeds. Level 4 is the real criu's. */
const LEVELS = [
  [1, 2, 3, 5, 1],
  [1, 2, 'hybrid', 4, 1],
  [4, 1, 3, 'hybrid', 2],
] as const;
/** One swap in a storm takes a second or two on a busy machine, and five when something hangs. */
const LIMIT_MS = 60_000 + SWAPS * 6_000;

test(
  `in ${SWAPS} swaps among five models at mixed levels, while things go wrong, every request is answered and memory is never overdrawn`,
  { timeout: LIMIT_MS },
  async ({ expect, start, folder, skip }) => {
    const lab = new Lab(folder);
    const levels = LEVELS[(SEED + 2) % LEVELS.length] ?? LEVELS[0];
    if (levels.some((level) => level === 4)) lab.useCriu(await requireCriu({ skip }));
    const catnap = await start(stormConfig(lab, levels), { env: lab.env });
    const { wrong, refused, swaps, faults, answered } = await swapStorm(catnap, lab, SWAPS, chance(SEED));
    expect(wrong).toEqual([]);
    expect(refused).toEqual([]);
    expect(swaps).toBeGreaterThanOrEqual(SWAPS);
    // It was a storm.
    expect([faults > SWAPS / 20, answered >= SWAPS]).toEqual([true, true]);
    expect((await catnap.told('sleep-escalated')).length).toBeGreaterThan(0);
  },
);
