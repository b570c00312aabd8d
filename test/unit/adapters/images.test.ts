import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'vitest';
import { ImageStore } from '../../../src/adapters/images.ts';
import { writePassport } from '../../../src/adapters/passport.ts';
import type { ProcessTable } from '../../../src/adapters/process-table.ts';
import { testFolder } from '../../helpers/survivors.ts';

let own: ReturnType<typeof testFolder>;
let images: string;
beforeEach(() => {
  own = testFolder();
  images = join(own.path, 'images');
});
afterEach(() => own.remove());

const MARK = '0123456789abcdef0123456789abcdef';
const alpha = { engine: 'alpha#0', model: 'alpha', mark: MARK, pid: 700, port: 8_001, savedAt: '2026-01-01T00:00:00Z' };

type Who = {
  boot?: string;
  namespace?: string;
  pid?: number;
  started?: number;
  state?: string;
  alive?: readonly number[];
  /** Those that have ended and that nobody has collected. */
  zombies?: readonly number[];
};

/** The store of a catnap with this identity. The started of a process that is alive is its number. */
function store(
  { boot = 'b', namespace = 'n', pid = 100, started = pid, state = 's', alive = [], zombies = [] }: Who = {},
  maxBytes = 0,
) {
  const stat = (of: number, since: number) => ({
    pid: of,
    started: since,
    parent: 1,
    group: of,
    session: of,
    alive: true,
    stopped: false,
  });
  const table: ProcessTable = {
    self: stat(pid, started),
    boot,
    namespace,
    look: (of) => {
      if (of === pid) return stat(pid, started);
      return [...alive, ...zombies].includes(of) ? { ...stat(of, of), alive: alive.includes(of) } : undefined;
    },
    list: async () => [],
    listNow: () => [],
    bearers: async () => new Set(),
  };
  return new ImageStore({ folder: images, maxBytes, table, state });
}

/** Why there is no room; what there is of it is not kept. */
async function lackOf(images: ImageStore, ...terms: Parameters<ImageStore['claim']>): Promise<string | undefined> {
  const claim = await images.claim(...terms);
  if ('lack' in claim) return claim.lack;
  images.settle(claim);
  return undefined;
}

/** Leaves an image of that catnap behind. */
async function left(who: Who): Promise<void> {
  const by = store(who);
  await by.prepare();
  await by.create(alpha);
}

test('what an earlier catnap left is removed: of this state folder, of another boot, of one that is dead', async ({
  expect,
}) => {
  await left({ pid: 90 });
  await left({ boot: 'before', pid: 91, state: 'other' });
  await left({ pid: 92, state: 'other' });
  await left({ pid: 93, state: 's', namespace: 'a container that is gone' });
  expect(await store({ pid: 100, alive: [91] }).sweep()).toBe(4);
  expect(readdirSync(images)).toEqual([]);
});

test('what belongs to a catnap that may run is left to it, and so is our own', async ({ expect }) => {
  await left({ pid: 92, state: 'other' });
  await left({ pid: 93, state: 'other', namespace: 'container' });
  await left({ pid: 100 });
  expect(await store({ pid: 100, alive: [92] }).sweep()).toBe(0);
  expect(readdirSync(images)).toHaveLength(3);
});

test('a number that was given out again does not keep an image', async ({ expect }) => {
  await left({ pid: 92, started: 5, state: 'other' });
  expect(await store({ alive: [92] }).sweep()).toBe(1);
});

test('a catnap that was killed keeps nothing, also while nobody has collected it', async ({ expect }) => {
  await left({ pid: 92, state: 'other' });
  expect(await store({ zombies: [92] }).sweep()).toBe(1);
});

test('files of others are never touched; a folder that was just made and never filled goes', async ({ expect }) => {
  const empty = join(images, 'alpha-0.aaaaaaaa.bbbbbbbb.cccccccc');
  const strange = join(images, 'alpha-0.aaaaaaaa.bbbbbbbb.dddddddd');
  for (const path of [empty, strange, join(images, 'notes')]) mkdirSync(path, { recursive: true });
  writeFileSync(join(strange, 'letter.txt'), 'dear');
  expect(await store().sweep()).toBe(0);
  expect(readdirSync(images).toSorted()).toEqual(['alpha-0.aaaaaaaa.bbbbbbbb.dddddddd', 'notes']);
  expect(existsSync(join(strange, 'letter.txt'))).toBe(true);
});

test('a record that cannot be read keeps nothing', async ({ expect }) => {
  const path = join(images, 'alpha-0.aaaaaaaa.bbbbbbbb.cccccccc');
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'catnap.json'), '{"boot":');
  expect(await store().sweep()).toBe(1);
});

test('where there is no folder there is nothing to remove', async ({ expect }) => {
  expect(await store().sweep()).toBe(0);
});

test('the folder is made private, also when it was open to all', async ({ expect }) => {
  mkdirSync(images, { mode: 0o755 });
  chmodSync(images, 0o755);
  await store().prepare();
  expect(statSync(images).mode & 0o777).toBe(0o700);
});

test('a folder that somebody else has put there is refused, with what to change', async ({ expect }) => {
  const elsewhere = join(own.path, 'elsewhere');
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, images);
  await expect(store().prepare()).rejects.toThrow(
    `${images} cannot hold images: it is not a folder; set checkpoint.images_dir to a folder that only catnap may write to`,
  );
});

test('what does not fit is told with the numbers: the disk, and the bound', async ({ expect }) => {
  const bounded = store({}, 10 * 1_048_576);
  await bounded.prepare();
  expect(await lackOf(bounded, 1_048_576)).toBeUndefined();
  const image = await bounded.create(alpha);
  writeFileSync(join(image.path, 'pages-1.img'), Buffer.alloc(8 * 1_048_576));
  expect(await lackOf(bounded, 3 * 1_048_576)).toMatch(
    /^its image takes about 3 MiB, and of checkpoint\.images_max_mib \(10 MiB\) \d+ MiB are taken$/,
  );
  expect(await lackOf(store(), 2 ** 60)).toMatch(/^its image takes about 1073741824\.0 GiB, and .* has .* left$/);
});

test('a sealed image is good as long as it is as it was, whatever is logged beside it', async ({ expect }) => {
  const by = store();
  await by.prepare();
  const image = await by.create(alpha);
  for (const number of [700, 701]) writeFileSync(join(image.path, `core-${number}.img`), 'core');
  await image.seal();
  expect(image.bytes).toBeGreaterThan(8);
  expect((await image.numbers()).toSorted()).toEqual([700, 701]);
  for (const name of ['restore.log', 'criu.log', 'root.pid', 'stats-restore'])
    writeFileSync(join(image.path, name), 'x');
  expect(await image.change()).toBeUndefined();
  writeFileSync(join(image.path, 'core-701.img'), '');
  expect(await image.change()).toContain('was changed or removed by somebody');
  await image.drop();
  expect(existsSync(image.path)).toBe(false);
  expect(await image.change()).toContain('was changed or removed by somebody');
});

test('an image that another catnap takes over is as good as before, and as bad', async ({ expect }) => {
  const by = store({ pid: 99 });
  await by.prepare();
  const image = await by.create(alpha);
  writeFileSync(join(image.path, 'core-700.img'), 'core');
  await image.seal();

  const adopted = await store().adopt(image.path, image);

  expect(await adopted.change()).toBeUndefined();
  expect(await store().sweep()).toBe(0);
  writeFileSync(join(image.path, 'core-700.img'), '');
  expect(await adopted.change()).toContain('was changed or removed by somebody');
});

const before = { slept: false, sample: null, gpu: null };

/** Leaves an image with a passport behind, so many days ago. */
async function leftWithPassport(
  engine: string,
  { prepared = false, days = 0, who = {} }: { prepared?: boolean; days?: number; who?: Who } = {},
) {
  const by = store({ pid: 99, ...who });
  await by.prepare();
  const image = await by.create({ ...alpha, engine });
  writeFileSync(join(image.path, 'pages-1.img'), 'x'.repeat(1_000));
  await image.seal();
  await writePassport(image.path, { key: 'k', prepared, before, listing: image.listing, bytes: image.bytes });
  const at = new Date(Date.now() - days * 86_400_000);
  utimesSync(join(image.path, 'kept.json'), at, at);
  return image.path;
}

test('an image with a passport stays where it may, of this boot and this state folder alone', async ({ expect }) => {
  const stays = await leftWithPassport('alpha#0');
  await leftWithPassport('alpha#0', { who: { boot: 'an earlier one' } });
  await leftWithPassport('gone#0');
  await left({ pid: 99 });
  expect(await store().sweep((engine) => engine === 'alpha#0')).toBe(3);
  expect(readdirSync(images).map((name) => join(images, name))).toEqual([stays]);
  expect((await store().kept('alpha#0'))?.image.path).toBe(stays);
  expect(await store({ boot: 'a later one' }).kept('alpha#0')).toBeUndefined();
  expect(await store({ state: 'of another' }).kept('alpha#0')).toBeUndefined();
  expect(await store().kept('beta#0')).toBeUndefined();
});

test('what goes on where it was comes before what was prepared', async ({ expect }) => {
  const once = await leftWithPassport('alpha#0', { days: 2 });
  await leftWithPassport('alpha#0', { prepared: true });
  expect((await store().kept('alpha#0'))?.image.path).toBe(once);
});

test('those that only wait make room, the longest unused first, and those that are held do not', async ({ expect }) => {
  const old = await leftWithPassport('alpha#0', { prepared: true, days: 2 });
  const newer = await leftWithPassport('beta#0', { prepared: true, days: 1 });
  const room = store({}, 40_000);
  const mine = await room.create({ ...alpha, engine: 'gamma#0' });
  writeFileSync(join(mine.path, 'pages-1.img'), 'x'.repeat(1_000));
  expect(await lackOf(room, 15_000)).toBeUndefined();
  expect([existsSync(old), existsSync(newer), existsSync(mine.path)]).toEqual([false, true, true]);
  // Nobody gives way for what would not fit all the same.
  expect(await lackOf(room, 39_000)).toMatch(/of checkpoint.images_max_mib/);
  expect([existsSync(newer), existsSync(mine.path)]).toEqual([true, true]);
  const gone: string[] = [];
  const sleeper = { bytes: 13_000, giveWay: async () => (gone.push('mine'), mine.drop()) };
  expect(await lackOf(room, 39_000, [sleeper])).toBeUndefined();
  expect([existsSync(newer), gone]).toEqual([false, ['mine']]);
});

test('in a folder that others may have written to there is nothing to bring back', async ({ expect }) => {
  await leftWithPassport('alpha#0');
  renameSync(images, `${images}.theirs`);
  symlinkSync(`${images}.theirs`, images);
  expect(await store().kept('alpha#0')).toBeUndefined();
});

test('room that was promised to one image is not promised to another, until the first is written', async ({
  expect,
}) => {
  const room = store({}, 40_000);
  await room.prepare();
  const [first, second] = await Promise.all([room.claim(30_000), room.claim(30_000)]);
  expect(second).toEqual({ lack: expect.stringMatching(/of checkpoint.images_max_mib/) });
  if ('lack' in first) throw new Error(first.lack);
  const image = await room.create(alpha, first);
  writeFileSync(join(image.path, 'pages-1.img'), Buffer.alloc(20_480));
  // What it has written already does not count twice.
  expect(await lackOf(room, 5_000)).toBeUndefined();
  expect(await lackOf(room, 15_000)).toMatch(/of checkpoint.images_max_mib/);
  await image.drop();
  room.settle(first);
  expect(await lackOf(room, 30_000)).toBeUndefined();
});

test('an image that an engine is about to come back from makes no room, however long ago it was listed', async ({
  expect,
}) => {
  const wanted = await leftWithPassport('alpha#0', { prepared: true, days: 2 });
  const other = await leftWithPassport('beta#0', { prepared: true, days: 1 });
  const room = store({}, 40_000);
  const gone: string[] = [];
  const sleeper = {
    // Asked once those that wait are listed: this is when somebody asks for one of them.
    get bytes() {
      expect(room.hold(wanted)).toBe(true);
      return 39_000;
    },
    giveWay: async () => void gone.push('sleeper'),
  };
  const claim = room.claim(39_000, [sleeper]);
  expect(await claim).toEqual({ lack: expect.stringMatching(/of checkpoint.images_max_mib/) });
  expect([existsSync(wanted), existsSync(other), gone]).toEqual([true, false, ['sleeper']]);
});

test('a folder below one that others may write to is refused, and so is nothing of it trusted', async ({ expect }) => {
  await leftWithPassport('alpha#0');
  chmodSync(own.path, 0o777);
  await expect(store().prepare()).rejects.toThrow(
    `${images} cannot hold images: ${own.path}, in which it lies, may be written to by everybody; set checkpoint.images_dir`,
  );
  expect(await store().kept('alpha#0')).toBeUndefined();
  // As /tmp is: whoever may write there may not take the place of others.
  chmodSync(own.path, 0o1777);
  await store().prepare();
  expect(await store().kept('alpha#0')).toBeDefined();
});

test('what was tried is cleared with all that is ours, and what another catnap tries stays', async ({ expect }) => {
  await left({ pid: 90 });
  const mine = store();
  await mine.create(alpha);
  await mine.clear();
  expect(existsSync(images)).toBe(false);
  await left({ pid: 90 });
  await left({ pid: 92, state: 'other' });
  await store({ alive: [92] }).clear();
  expect(readdirSync(images)).toHaveLength(1);
  await store().clear();
  await store().clear();
  expect(existsSync(images)).toBe(false);
});
