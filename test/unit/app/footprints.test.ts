import { readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import { Footprints } from '../../../src/app/footprints.ts';
import { folderWith, goodConfig } from '../../helpers/config.ts';

const config = (state_dir: string, more: object = {}) =>
  goodConfig({ state_dir, models: { a: { backend: 'stub', ...more }, b: { backend: 'stub' } } });

describe('what models were seen to take', () => {
  test('is known at the next start, as long as their settings are the same', async ({ expect }) => {
    using folder = folderWith({});
    const told: string[] = [];
    const warned = (message: string): void => void told.push(message);
    const first = await Footprints.open(config(folder.path), warned);
    expect(first.of('a')).toBe(undefined);
    first.saw('a', 8_000.2);
    first.saw('b', 500);
    await first.close();
    const next = await Footprints.open(config(folder.path, { start_ms: 5 }), warned);
    expect([next.of('a'), next.of('b'), next.of('c')]).toEqual([undefined, 500, undefined]);
    expect((await Footprints.open(config(folder.path), warned)).of('a')).toBe(8_001);
    expect(told).toEqual([]);
  });

  test('is seen anew when its file cannot be read', async ({ expect }) => {
    using folder = folderWith({ 'footprints.json': '{"version":1,"models":{"a":{"gpu_mib":-1,"settings":""}}}' });
    const told: string[] = [];
    const opened = await Footprints.open(config(folder.path), (message) => told.push(message));
    expect(opened.of('a')).toBe(undefined);
    expect(told).toEqual([expect.stringContaining('what models take cannot be read')]);
    opened.saw('a', 9);
    await opened.close();
    expect(readFileSync(folder.file('footprints.json'), 'utf8')).toContain('"gpu_mib": 9');
    writeFileSync(folder.file('footprints.json'), 'no json');
    expect((await Footprints.open(config(folder.path), (message) => told.push(message))).of('a')).toBe(undefined);
  });
});
