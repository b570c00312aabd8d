import { existsSync, readdirSync } from 'node:fs';
import type { ExpectStatic } from 'vitest';
import { procTable } from '../../src/adapters/process-table.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { SleepLevel } from '../../src/core/kinds.ts';
import type { Catnap } from '../helpers/catnap.ts';
import { requireCriu } from '../helpers/criu.ts';
import { isAlive, test, type Start } from '../helpers/e2e.ts';
import { configOf, gpusOf, says, type Lane } from '../helpers/fault-lanes.ts';
import { onForLong, passedOpen } from '../helpers/freeze-verdict.ts';
import { Lab } from '../helpers/lab.ts';
import { survivors, survivorsBeside } from '../helpers/survivors.ts';
import { waitFor } from '../helpers/wait-for.ts';

/**
 * catnap is killed while models are in the middle of each leg of a sleep or a wake. Each leg stands still once it has begun, so that it is
 * surely in it; the next catnap ends all that was left, and serves.
 */

const TOGETHER = ['--tensor-parallel-size', '2', '--enforce-eager', '--disable-custom-all-reduce'];
/** So that what is frozen fits into the memory of the machine that plays this. */
const SMALL = { weightsMib: 300, kvMib: 200, contextMib: 300 };

/** Of a model that can go on for long, as much is enough to know it by. */
const SHORT = { max_tokens: 40 };

/** Where it stands still, on which way; nothing: it has arrived. */
type Leg = readonly [way: 'sleep' | 'wake', point?: string];
type Scene = Lane & { readonly leg: Leg };

const SLEEP: readonly Leg[] = [['sleep']];

const scenesOf = (level: SleepLevel, legs: readonly Leg[], extra_args: readonly string[] = []): readonly Scene[] =>
  legs.map((leg, number) => ({
    name: `at-${level}-${number}`,
    gpus: extra_args.length > 0 ? 2 : 1,
    model: (lab) => lab.vllm(SMALL, { sleep_level: level, levels_allowed: [level, 5], extra_args: [...extra_args] }),
    rows: [],
    leg,
  }));

const FREEZE: readonly Leg[] = [
  ['sleep', 'cuda.lock'],
  ['sleep', 'cuda.checkpoint'],
  ['wake', 'cuda.restore'],
  ['wake', 'cuda.unlock'],
];
const OWN: readonly Leg[] = [
  ['sleep', 'vllm.sleep'],
  ['wake', 'vllm.wake'],
  ['wake', 'vllm.reload'],
];

/** Nothing is over before catnap is killed, however busy the machine is. */
const LONG_SECS = 600;
const LIMIT_MS = 240_000;
const within = { within: 120_000 };

/** Brings a model to where it stands still. */
async function begin(catnap: Catnap, lab: Lab, { name, leg: [way, point] }: Scene): Promise<string> {
  const well = await says(catnap, name, SHORT);
  if (way === 'wake' || point === undefined) await says(catnap, `next-${name}`);
  if (point === undefined) return well;
  lab.ledger.plan({ point, kind: 'hang', model: name });
  // It is never answered, and lost with its catnap.
  void says(catnap, way === 'sleep' ? `next-${name}` : name).catch(() => undefined);
  const begun = (): boolean => lab.ledger.events('fault', name).some(({ detail }) => detail === `${point}: hang`);
  await waitFor(`${name} to be in ${point}`, begun, within);
  return well;
}

const imagesOf = (lab: Lab): readonly string[] => {
  const folder = lab.root.checkpoint?.images_dir;
  return folder !== undefined && existsSync(folder) ? readdirSync(folder) : [];
};

type Play = { readonly expect: ExpectStatic; readonly start: Start; readonly folder: string; readonly lab: Lab };

/** What the one that was killed has left, and whether the next one serves. */
async function nextServes(
  { expect, start, folder, lab }: Play,
  config: ConfigInput,
  { wells, left }: { wells: Readonly<Record<string, string>>; left: readonly number[] },
): Promise<void> {
  const second = await start(config, { env: lab.env });
  expect(left.filter(isAlive)).toEqual([]);
  expect(survivorsBeside(folder, second.pid)).toEqual([second.pid]);
  expect([lab.ledger.holders(), imagesOf(lab)]).toEqual([[], []]);
  expect(second.facts('leftover-reaped').filter(({ gone }) => gone !== true)).toEqual([]);
  const said = await Promise.all(
    Object.keys(wells).map(async (name) => [name, await says(second, name, SHORT)] as const),
  );
  expect(Object.fromEntries(said)).toEqual(wells);
  expect([second.facts('engine-failed'), lab.ledger.events('refused')]).toEqual([[], []]);
}

async function killedInEach({ expect, start, folder, lab }: Play, scenes: readonly Scene[]): Promise<void> {
  const config = configOf(lab, scenes, {
    sleep_timeout_secs: LONG_SECS,
    wake_timeout_secs: LONG_SECS,
    startup_timeout_secs: LONG_SECS,
  });
  const first = await start(config, { env: lab.env });
  const begun = await Promise.all(scenes.map(async (scene) => [scene.name, await begin(first, lab, scene)] as const));
  const left = survivors(folder).flatMap(({ pid }) => (pid === first.pid ? [] : [pid]));
  expect(left.length).toBeGreaterThanOrEqual(scenes.length);
  await first.stop('SIGKILL');
  await nextServes({ expect, start, folder, lab }, config, { wells: Object.fromEntries(begun), left });
}

const labFor = (folder: string, scenes: readonly Scene[]): Lab =>
  new Lab(
    folder,
    Array.from({ length: gpusOf(scenes) }, () => 8_000),
  );

for (const [level, scenes] of [
  ['3', scenesOf(3, [...SLEEP, ...FREEZE])],
  ['hybrid', scenesOf('hybrid', [...SLEEP, ...OWN, ...FREEZE], TOGETHER)],
] as const)
  test(
    `killed in the middle of each leg of level ${level}, it leaves nothing that the next one does not end, and that one serves`,
    { timeout: LIMIT_MS },
    ({ expect, start, folder }) => killedInEach({ expect, start, folder, lab: labFor(folder, scenes) }, scenes),
  );

test(
  'killed in the middle of each leg of level 4, it leaves no image, and nothing that the next one does not end',
  { timeout: LIMIT_MS },
  async ({ expect, start, folder, skip }) => {
    const disk: readonly Leg[] = [
      ['sleep', 'criu.dump'],
      ['wake', 'criu.restore'],
    ];
    const scenes = scenesOf(4, [...SLEEP, ...OWN, ...FREEZE, ...disk]);
    const lab = labFor(folder, scenes);
    lab.useCriu(await requireCriu({ skip }));
    await killedInEach({ expect, start, folder, lab }, scenes);
  },
);

for (const [level, where] of [
  [3, 'once it is'],
  [4, 'while it is being written to disk, its processes stopped'],
] as const)
  test(
    `killed while a model is suspended at level ${level} with a stream in flight, ${where}, it leaves nothing that stands still`,
    { timeout: LIMIT_MS },
    async ({ expect, start, folder, skip }) => {
      const lab = new Lab(folder);
      if (level === 4) lab.useCriu(await requireCriu({ skip }));
      const config: ConfigInput = {
        ...lab.root,
        experimental: { freeze_drain: true },
        policy: { policy_type: 'slack', max_wait_secs: 0.1, serving_share: 0, sleep_level: level },
        sleep_timeout_secs: LONG_SECS,
        models: {
          alpha: lab.vllm({ ...SMALL, ...lab.flow('alpha'), tokenMs: 10 }, { levels_allowed: [level, 5] }),
          beta: lab.vllm(SMALL, { model_path: 'lab/other' }),
        },
      };
      await passedOpen({ model: 'alpha', level: `${level}f` }, config, lab, folder);
      const first = await start(config, { env: lab.env });
      const wells = { alpha: await says(first, 'alpha', SHORT), beta: await says(first, 'beta', SHORT) };
      const stream = await first.stream('alpha');
      await stream.begun();
      await onForLong(first);
      if (level === 4) lab.ledger.plan({ point: 'criu.dump', kind: 'hang', model: 'alpha' });
      void says(first, 'beta').catch(() => undefined);
      await (level === 3
        ? first.fact('requests-frozen', { model: 'alpha' })
        : waitFor('criu', () => lab.ledger.events('fault', 'alpha').length > 0, within));
      const left = survivors(folder).flatMap(({ pid }) => (pid === first.pid ? [] : [pid]));
      // At level 3 they only wait for their GPU.
      expect(left.some((pid) => procTable()?.look(pid)?.stopped)).toBe(level === 4);
      await first.stop('SIGKILL');
      await stream.closed;
      await nextServes({ expect, start, folder, lab }, config, { wells, left });
    },
  );
