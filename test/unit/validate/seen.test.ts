import { describe, test } from 'vitest';
import type { Cycle, GpuHeld, Held, Observed } from '../../../src/validate/observed.ts';
import { awakeMib, heldIn } from '../../../src/validate/seen.ts';
import type { Verdict } from '../../../src/ports/verdicts.ts';

const MIB = 1_048_576;
const held = (gpu: GpuHeld, mib: number | undefined, own = mib): Held => {
  const bytes = (count: number | undefined): number | undefined => (count === undefined ? undefined : count * MIB);
  return { gpu, processes: { count: 1, bytes: bytes(mib), privateBytes: bytes(own) } };
};
const gpu = (mib: number): GpuHeld => ({ kind: 'own', mib, processes: 1, byGpu: { a: mib } });
const observed = (...cycles: Cycle[]): Observed => ({
  level: 1,
  startMs: 1,
  tokens: 1,
  cycles,
  cyclesWanted: cycles.length,
});
const cycle = (before: Held, asleep: Held, awake: Held): Cycle => ({ before, pidBefore: 1, asleep, awake });

describe('what an engine was seen to hold', () => {
  test('is the most of all cycles; asleep only what is its own counts of main memory', ({ expect }) => {
    const seen = observed(
      cycle(held(gpu(9_000), 2_000), held(gpu(700), 6_000, 5_000), held(gpu(9_100), 2_100)),
      cycle(held(gpu(9_000), 2_000), held(gpu(701), 6_000, 5_100), held(gpu(9_050), 2_050)),
    );
    expect(heldIn(seen)).toEqual({ awake: { gpu: 9_100, host: 2_100 }, asleep: { gpu: 701, host: 5_100 } });
  });

  test('is unknown where it was not seen each time, or only of whole devices', ({ expect }) => {
    const devices: GpuHeld = { kind: 'devices', mib: 9_000, byGpu: { a: 9_000 } };
    const seen = observed(cycle(held(gpu(9_000), 2_000), held(devices, undefined), held(devices, undefined)));
    const none = { gpu: undefined, host: undefined };
    expect(heldIn(seen)).toEqual({ awake: none, asleep: none });
  });
});

test('of several verdicts the one counts that saw most', ({ expect }) => {
  const none = { gpu: undefined, host: undefined };
  const verdict = (mib: number | undefined): Verdict => ({
    model: 'alpha',
    level: 1,
    passed: true,
    reason: '',
    at: new Date(0),
    identity: { backend: 'vllm_serve', settings: 's', program: 'p', version: undefined, driver: undefined },
    ...(mib !== undefined && { held: { awake: { gpu: mib, host: undefined }, asleep: none } }),
  });
  expect(awakeMib([verdict(9_000), verdict(9_100), verdict(undefined)], 'gpu')).toBe(9_100);
  expect(awakeMib([verdict(9_000)], 'host')).toBeUndefined();
  expect(awakeMib([], 'gpu')).toBeUndefined();
});
