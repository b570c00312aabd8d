import { test } from 'vitest';
import type { Leavers } from '../../../src/core/entrance.ts';
import { engineId, modelId, type EngineId } from '../../../src/core/kinds.ts';
import type { MemoryReading } from '../../../src/core/overlap.ts';
import { RoomWatch } from '../../../src/runtime/room-watch.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';

const alpha = engineId(modelId('alpha'), 0);
const drains: Leavers = { draining: [alpha], leaving: [] };
const leaves: Leavers = { draining: [], leaving: [alpha] };

function watch() {
  const clock = new VirtualClock();
  const looks: (readonly EngineId[])[] = [];
  const read: MemoryReading[] = [];
  const gauge = async (engines: readonly EngineId[]): Promise<MemoryReading> => {
    looks.push(engines);
    return { memory: 'gpu', takenAt: clock.now(), freeMib: 1, heldMib: new Map() };
  };
  const room = new RoomWatch({ clock, gauge, read: (reading) => read.push(reading) });
  return { clock, looks, read, room };
}

test('who still serves is looked at once, so that it is known what he had', async ({ expect }) => {
  const { clock, looks, room } = watch();
  room.follow(drains);
  await clock.advance(60_000);
  room.follow(drains);
  await clock.advance(60_000);
  expect(looks).toEqual([[alpha]]);
});

test('who leaves is looked at again and again, less often the longer it takes, and no more once nobody waits', async ({
  expect,
}) => {
  const { clock, looks, read, room } = watch();
  room.follow(leaves);
  await clock.advance(1_000);
  const first = looks.length;
  expect(first).toBeGreaterThan(8);
  await clock.advance(60_000);
  const inAMinute = looks.length - first;
  expect(inAMinute).toBeGreaterThan(59);
  expect(inAMinute).toBeLessThan(120);
  expect(read.length).toBe(looks.length);
  room.follow(undefined);
  await clock.advance(60_000);
  expect(looks.length).toBe(first + inAMinute);
});

test('who has been looked at and serves again, is looked at again before the next one comes for him', async ({
  expect,
}) => {
  const { clock, looks, room } = watch();
  room.follow(drains);
  await clock.advance(1_000);
  room.follow(undefined); // nobody waits any more: what he holds may change
  room.follow(drains);
  await clock.advance(1_000);
  expect(looks).toEqual([[alpha], [alpha]]);
});
