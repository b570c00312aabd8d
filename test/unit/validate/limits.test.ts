import { test } from 'vitest';
import type { Link } from '../../../src/ports/links.ts';
import type { TrialLevel } from '../../../src/ports/verdicts.ts';
import { withLimits } from '../../../src/validate/limits.ts';
import type { Cycle, Held, Result } from '../../../src/validate/observed.ts';
import { tableText } from '../../../src/validate/table.ts';

const held = (mib: number): Held => ({
  gpu: { kind: 'own', mib, processes: 1 },
  processes: { count: 1, bytes: 1, privateBytes: 1 },
});

function resultOf(level: TrialLevel, more: Partial<Cycle> = {}): Result {
  const [sleep, wake] = [
    { actMs: 2_000, proofMs: 9_000 },
    { actMs: 4_000, proofMs: 9_000 },
  ];
  const cycle = { before: held(10_000), asleep: held(1_000), pidBefore: 1, sleep, wake, ...more };
  const observed = { level, startMs: 1, tokens: 64, cycles: [cycle], cyclesWanted: 1 };
  return { level, outcome: 'passed', fault: undefined, reasons: [], notes: [], observed };
}

/** A machine on which each link moves so many MiB in a second. */
const links = (rates: Partial<Record<Link, number>>) => ({ rate: async (link: Link) => rates[link] });

const ALL = { PCIe: 9_000, 'disk write': 500, 'disk read': 1_000, 'page cache read': 6_000 };

async function limits(of: Result, modelMib: number | undefined, rates: Partial<Record<Link, number>>) {
  const [result] = await withLimits([of], { modelMib }, links(rates));
  return result?.observed?.cycles[0]?.limits;
}

test('each leg is held against the link over which its memory moves', async ({ expect }) => {
  expect(await limits(resultOf(3), 6_000, ALL)).toEqual({
    sleep: { link: 'PCIe', mib: 9_000, ratio: 2 },
    wake: { link: 'PCIe', mib: 9_000, ratio: 4 },
  });
  // Of what level 1 frees only the weights move.
  expect(await limits(resultOf(1), 4_500, ALL)).toMatchObject({ sleep: { mib: 4_500, ratio: 4 } });
  expect(await limits(resultOf(4, { imageMib: 1_000 }), 6_000, ALL)).toEqual({
    sleep: { link: 'disk write', mib: 1_000, ratio: 1 },
    wake: { link: 'disk read', mib: 1_000, ratio: 4 },
  });
  expect(await limits(resultOf(5), 6_000, ALL)).toEqual({
    sleep: undefined,
    wake: { link: 'page cache read', mib: 6_000, ratio: 4 },
  });
});

test('without PCIe memory is copied; where nothing is known of what moves or of the link, nothing is said', async ({
  expect,
}) => {
  expect(await limits(resultOf(3), undefined, { 'memory copy': 4_500 })).toMatchObject({
    sleep: { link: 'memory copy', ratio: 1 },
  });
  for (const level of [1, 2, 5] as const)
    expect(await limits(resultOf(level), undefined, ALL)).toEqual({ sleep: undefined, wake: undefined });
  expect(await limits(resultOf(4), 6_000, ALL)).toEqual({ sleep: undefined, wake: undefined });
  expect(await limits(resultOf(3), 6_000, {})).toEqual({ sleep: undefined, wake: undefined });
});

test('the table tells it below the legs', async ({ expect }) => {
  const text = tableText(await withLimits([resultOf(4, { imageMib: 1_000 })], { modelMib: undefined }, links(ALL)));
  expect(text).toContain('  L4 wake: 4.0 times what 1000 MiB take by disk read alone\n');
});
