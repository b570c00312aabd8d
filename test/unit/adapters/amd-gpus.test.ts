import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { AmdGpus, firstGpu } from '../../../src/adapters/amd-gpus.ts';
import type { Gpu, GpuSight } from '../../../src/ports/gpu.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';

const GIB = 1_073_741_824;

/** A folder as Linux keeps it, with these cards in it. */
const test = base.extend<{ drm: (cards: Readonly<Record<string, Readonly<Record<string, string>>>>) => string }>({
  drm: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'catnap-drm-'));
    await use((cards) => {
      for (const [card, files] of Object.entries(cards)) {
        mkdirSync(join(folder, card, 'device'), { recursive: true });
        for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, card, 'device', file), text);
      }
      return folder;
    });
    rmSync(folder, { recursive: true });
  },
});

const card = (total: number, used: number, more: Readonly<Record<string, string>> = {}) => ({
  mem_info_vram_total: `${total}\n`,
  mem_info_vram_used: `${used}\n`,
  ...more,
});

test('cards are read in the order of their numbers, connectors and cards of others are not', async ({
  expect,
  drm,
}) => {
  const folder = drm({
    card10: card(8 * GIB, GIB),
    card2: card(16 * GIB, 3 * GIB, { product_name: 'Instinct MI50\n', unique_id: 'c0ffee\n' }),
    card0: { vendor: '0x10de\n' },
    'card2-DP-1': card(GIB, GIB),
    renderD128: card(GIB, GIB),
  });
  const sight = await new AmdGpus(new VirtualClock(), folder).read(0);
  expect(sight).toMatchObject({
    kind: 'read',
    reading: {
      devices: [
        { index: 0, uuid: 'c0ffee', name: 'Instinct MI50', totalMib: 16_384, usedMib: 3_072, freeMib: 13_312 },
        { index: 1, uuid: 'card10', name: 'AMD GPU (card10)', totalMib: 8_192, usedMib: 1_024 },
      ],
      processes: [],
    },
  });
});

test('a reading is kept as long as it may be old', async ({ expect, drm }) => {
  const clock = new VirtualClock();
  const folder = drm({ card0: card(GIB, 0) });
  const gpu = new AmdGpus(clock, folder);
  const used = async (maxAgeMs: number): Promise<number | undefined> => {
    const sight: GpuSight = await gpu.read(maxAgeMs);
    return sight.kind === 'read' ? sight.reading.devices[0]?.usedMib : undefined;
  };
  expect(await used(0)).toBe(0);
  drm({ card0: card(GIB, GIB / 2) });
  await clock.advance(900);
  expect(await used(1_000)).toBe(0);
  expect(await used(500)).toBe(512);
});

test('where there is no such folder, no such card, or nonsense in it, there is none', async ({ expect, drm }) => {
  const clock = new VirtualClock();
  for (const folder of [
    '/nowhere/at/all',
    drm({ card0: { mem_info_vram_total: 'many\n', mem_info_vram_used: '1\n' }, card1: {} }),
  ]) {
    expect(await new AmdGpus(clock, folder).read(0)).toMatchObject({ kind: 'absent' });
  }
});

test('they are asked where nvidia-smi is not there, and not where it is there and fails', async ({ expect }) => {
  const saying = (sight: GpuSight): Gpu => ({ read: async () => sight });
  const absent = saying({ kind: 'absent', reason: 'no tool' });
  const failed = saying({ kind: 'failed', reason: 'no driver' });
  const START = new VirtualClock().now();
  const read = { kind: 'read', reading: { takenAt: START, cameAt: START, devices: [], processes: [] } } as const;
  expect(await firstGpu(absent, saying(read)).read(0)).toEqual(read);
  expect(await firstGpu(failed, saying(read)).read(0)).toEqual({ kind: 'failed', reason: 'no driver' });
  expect(await firstGpu(absent, saying({ kind: 'absent', reason: 'no card' })).read(0)).toEqual({
    kind: 'absent',
    reason: 'no tool; no card',
  });
});
