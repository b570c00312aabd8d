import { describe, test } from 'vitest';
import { Reloader, type ReloaderMeans } from '../../../src/app/reloader.ts';
import { configFrom, type Loaded } from '../../../src/config/load.ts';
import type { Config, ConfigInput } from '../../../src/config/schema.ts';
import type { Fact } from '../../../src/core/facts.ts';
import { InvariantBroken } from '../../../src/core/kinds.ts';

const read = (input: ConfigInput): Loaded => configFrom(input, 'test', {}, { HOME: '/home/somebody' });
const BASE: ConfigInput = { models: { alpha: { backend: 'stub' } } };

function configOf(input: ConfigInput): Config {
  const loaded = read(input);
  if (loaded.kind !== 'loaded') throw new Error(loaded.kind);
  return loaded.config;
}

/** A catnap whose files are what `files` says when they are read. */
function scene(change: Partial<ReloaderMeans> = {}) {
  const facts: Fact[] = [];
  const applied: boolean[] = [];
  const disk = { input: BASE };
  let current = configOf(BASE);
  const reloader = new Reloader({
    read: () => read(disk.input),
    current: () => current,
    accepting: () => true,
    apply: async (config, _changes, now) => {
      current = config;
      applied.push(now);
      return now ? ['alpha'] : [];
    },
    reporter: { report: (fact) => void facts.push(fact) },
    ...change,
  });
  return { reloader, facts, applied, disk };
}

const SIGHUP = { by: 'SIGHUP', now: false };

describe('reading the config again', () => {
  test('tells what has changed', async ({ expect }) => {
    const { reloader, facts, disk } = scene();
    disk.input = { models: { beta: { backend: 'stub' } } };
    expect(await reloader.reload(SIGHUP)).toMatchObject({
      kind: 'done',
      changes: { added: ['beta'], removed: ['alpha'] },
    });
    expect(facts).toMatchObject([{ kind: 'config-reloaded', by: 'SIGHUP' }]);
  });

  test('changes nothing when something is wrong with it', async ({ expect }) => {
    const { reloader, facts, applied, disk } = scene();
    disk.input = { models: {} };
    const end = await reloader.reload(SIGHUP);
    expect(end).toMatchObject({ kind: 'refused', code: 'invalid_config' });
    expect(applied).toEqual([]);
    expect(facts).toMatchObject([
      { kind: 'config-refused', by: 'SIGHUP', problems: [expect.stringContaining('models')] },
    ]);
  });

  test('changes nothing when a part of it cannot be changed', async ({ expect }) => {
    const { reloader, applied, disk } = scene();
    disk.input = { models: { beta: { backend: 'stub' } }, port: 4000, host: '127.0.0.2' };
    expect(await reloader.reload(SIGHUP)).toEqual({
      kind: 'refused',
      code: 'needs_restart',
      problems: ['port: needs a restart of catnap', 'host: needs a restart of catnap'],
    });
    expect(applied).toEqual([]);
  });

  test('changes nothing where it cannot be put to use, or catnap shuts down', async ({ expect }) => {
    const unreadable = scene({ apply: () => Promise.reject(new Error('tls.cert (c.pem) cannot be read')) });
    expect(await unreadable.reloader.reload(SIGHUP)).toMatchObject({
      code: 'invalid_config',
      problems: ['tls.cert (c.pem) cannot be read'],
    });
    const closing = scene({ accepting: () => false });
    expect(await closing.reloader.reload(SIGHUP)).toMatchObject({ code: 'shutting_down' });
    const closedMeanwhile = scene({ apply: async () => undefined });
    expect(await closedMeanwhile.reloader.reload(SIGHUP)).toMatchObject({ code: 'shutting_down' });
  });

  test('does not call a bug of ours a config that is wrong', async ({ expect }) => {
    const broken = new InvariantBroken('half of it is in use');
    const { reloader, facts } = scene({ apply: () => Promise.reject(broken) });
    await expect(reloader.reload(SIGHUP)).rejects.toBe(broken);
    expect(facts).toEqual([]);
  });

  test('happens once at a time, and once for all who ask meanwhile', async ({ expect }) => {
    const gates: (() => void)[] = [];
    let running = 0;
    let most = 0;
    const asked: boolean[] = [];
    const { reloader } = scene({
      apply: async (_config, _changes, now) => {
        asked.push(now);
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => gates.push(resolve));
        running--;
        return [];
      },
    });
    const first = reloader.reload(SIGHUP);
    await expect.poll(() => gates.length).toBe(1);
    const others = [reloader.reload(SIGHUP), reloader.reload({ by: 'somebody', now: true }), reloader.reload(SIGHUP)];
    gates[0]?.();
    await first;
    await expect.poll(() => gates.length).toBe(2);
    gates[1]?.();
    const ends = await Promise.all(others);
    expect(ends.every((end) => end === ends[0])).toBe(true);
    expect([most, asked]).toEqual([1, [false, true]]);
  });
});
