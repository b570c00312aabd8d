import { test } from 'vitest';
import { after, millis } from '../../../src/core/kinds.ts';
import type { Gpu } from '../../../src/ports/gpu.ts';
import { Room } from '../../../src/sleep/room.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';

/** As where nvidia-smi is slow. */
const LOOK_MS = 300;
const NEVER = new AbortController().signal;

/** One GPU that has so much free, and a look at it that is shared with whoever may still use it. */
function gpuWith(freeMib: number) {
  const clock = new VirtualClock();
  const seen = { freeMib, looks: 0, takenAt: millis(-1_000_000), cameAt: millis(-1_000_000) };
  let told = freeMib;
  const gpu: Gpu = {
    read: async (maxAgeMs) => {
      if (clock.now() - seen.takenAt > maxAgeMs || maxAgeMs === 0) {
        seen.looks += 1;
        [told, seen.takenAt] = [seen.freeMib, clock.now()];
        await new Promise<void>((resolve) => clock.at(after(clock.now(), LOOK_MS), resolve));
        seen.cameAt = clock.now();
      }
      const device = { uuid: 'GPU-0', index: 0, name: 'x', totalMib: 80_000, usedMib: 80_000 - told, freeMib: told };
      return {
        kind: 'read',
        reading: { takenAt: seen.takenAt, cameAt: seen.cameAt, devices: [device], processes: [] },
      };
    },
  };
  const room = new Room({ clock, gpu });
  const look = async (): Promise<void> => {
    const seeing = gpu.read(0);
    await clock.advance(LOOK_MS);
    await seeing;
  };
  /** Comes back, which takes so much, and is counted as coming meanwhile. */
  const comeBack = async (mib: number): Promise<string> => {
    const isThere = room.comes();
    try {
      const end = room.until(new Map([['GPU-0', mib]]), { name: 'vLLM', forMs: 1_000 }, NEVER);
      await Promise.race([end, clock.advance(3_000)]);
      await end;
      return 'room';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      isThere();
    }
  };
  return { clock, look, room, seen, comeBack };
}

test('the look that proved that another has gone is enough, for a moment', async ({ expect }) => {
  const { clock, look, seen, comeBack } = gpuWith(20_000);
  await look();
  await clock.advance(200);
  expect([await comeBack(15_000), seen.looks]).toEqual(['room', 1]);
});

test('an old look is not enough', async ({ expect }) => {
  const { clock, look, seen, comeBack } = gpuWith(20_000);
  await look();
  await clock.advance(400);
  expect([await comeBack(15_000), seen.looks]).toEqual(['room', 2]);
});

test('nor is one while another of ours comes, or before one that has come since', async ({ expect }) => {
  const { clock, look, room, seen, comeBack } = gpuWith(20_000);
  await look();
  await clock.advance(10);
  const isThere = room.comes();
  expect([await comeBack(15_000), seen.looks]).toEqual(['room', 2]);
  await look();
  await clock.advance(10);
  isThere();
  seen.freeMib = 9_000;
  expect(await comeBack(15_000)).toBe('vLLM needs 15000 MiB of GPU-0 to come back, and 9000 MiB are free');
});

test('where a look showed too little it is looked again, until there is enough or the time is over', async ({
  expect,
}) => {
  const late = gpuWith(1_000);
  await late.look();
  late.seen.freeMib = 20_000;
  expect([await late.comeBack(15_000), late.seen.looks]).toEqual(['room', 2]);
  const never = gpuWith(1_000);
  expect(await never.comeBack(15_000)).toBe('vLLM needs 15000 MiB of GPU-0 to come back, and 1000 MiB are free');
});
