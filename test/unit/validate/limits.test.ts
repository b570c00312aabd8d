import { test } from 'vitest';
import type { Link } from '../../../src/ports/links.ts';
import type { TrialLevel } from '../../../src/ports/verdicts.ts';
import { withLimits } from '../../../src/validate/limits.ts';
import type { Cycle, Held, Result } from '../../../src/validate/observed.ts';
import { tableText } from '../../../src/validate/table.ts';

const held = (mib: number): Held => ({
  gpu: { kind: 'own', mib, processes: 1, byGpu: { a: mib } },
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

test('each GPU has a link of its own, and the one that takes longest counts', async ({ expect }) => {
  const on = (byGpu: Readonly<Record<string, number>>): Held => ({
    ...held(0),
    gpu: { kind: 'own', processes: 2, mib: Object.values(byGpu).reduce((sum, mib) => sum + mib, 0), byGpu },
  });
  const rates: Readonly<Record<string, number>> = { fast: 9_000, slow: 1_000 };
  // One that nobody uses would be slower still.
  const each = { rate: async (link: Link, gpu?: string) => (link === 'PCIe' ? (rates[gpu ?? ''] ?? 100) : undefined) };
  const ratios = async (level: TrialLevel, more: Partial<Cycle>) => {
    const [result] = await withLimits([resultOf(level, more)], { modelMib: 5_500 }, each);
    return result?.observed?.cycles[0]?.limits?.wake;
  };
  const [before, asleep] = [on({ fast: 10_000, slow: 2_000 }), on({ fast: 1_000, slow: 0 })];
  expect(await ratios(3, { before, asleep })).toEqual({ link: 'PCIe', mib: 11_000, ratio: 2, gpus: 2 });
  // Half of what is freed are weights.
  expect(await ratios(1, { before, asleep })).toEqual({ link: 'PCIe', mib: 5_500, ratio: 4, gpus: 2 });
  expect(await ratios(3, { before: on({ fast: 9_000 }), asleep: on({}) })).toEqual({
    link: 'PCIe',
    mib: 9_000,
    ratio: 4,
  });
  // Whoever is listed no more holds nothing, however full the GPUs are.
  const others: Held = { ...held(0), gpu: { kind: 'devices', mib: 8_000, byGpu: { fast: 8_000 } } };
  expect(await ratios(3, { before: on({ fast: 9_000 }), asleep: others })).toMatchObject({ mib: 9_000 });
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
