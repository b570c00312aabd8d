import type { ConfigInput } from '../../src/config/schema.ts';
import { requireCriu } from '../helpers/criu.ts';
import { test } from '../helpers/e2e.ts';
import type { Lane } from '../helpers/fault-lanes.ts';
import { allAsSaid, labOf, LATE, LIMIT_MS, patient, TOGETHER, vllm, whole } from '../helpers/fault-scene.ts';
import type { Lab } from '../helpers/lab.ts';

/** Level 4, leg by leg, against everything that is known to go wrong with it, as `sleep-faults.test.ts` has it for the others. */

/** To disk and back, by the real criu. */
const ON_DISK: readonly Lane[] = [
  {
    name: 'disk',
    model: vllm(4),
    rows: [
      ['asleep', 'nothing', 'disk', 'same'],
      ['sleep', 'vllm.sleep fail', 'none', 'fresh', /\/sleep: it answered 500/],
      ['sleep', 'cuda.lock fail', 'none', 'fresh', /could not lock process/],
      ['sleep', 'cuda.checkpoint fail', 'none', 'fresh', /could not checkpoint process/],
      ['sleep', 'criu.dump fail', 'none', 'fresh', /Can't dump file 33/],
      ['sleep', 'criu.dump full', 'none', 'fresh', /there is no room for the image/],
      ['asleep', 'damaged', 'disk', 'fresh', /was changed or removed by somebody/],
    ],
  },
  {
    name: 'disk-and-back',
    model: vllm(4),
    rows: [
      ['wake', 'criu.restore fail', 'disk', 'fresh', /was changed or removed while it was on disk/],
      ['wake', 'cuda.restore fail', 'disk', 'fresh', /could not restore process/],
      ['wake', 'vllm.reload fail', 'disk', 'fresh', /default_weight_loader/],
    ],
  },
  {
    name: 'disk-together',
    gpus: 2,
    model: vllm(4, {}, TOGETHER),
    rows: [
      ['asleep', 'nothing', 'disk', 'same'],
      ['sleep', 'vllm.communicator fail', 'none', 'fresh', /ncclCommDestroy failed/],
      // Of two processes one fails.
      ['sleep', 'cuda.checkpoint fail', 'none', 'fresh', /could not checkpoint process/],
      ['wake', 'cuda.unlock fail', 'disk', 'fresh', /could not unlock process/],
    ],
  },
];
const NOT_BACK = /did not come back from disk within \d+ s \(wake_timeout_secs\)/;
const DISK_HANGS: readonly Lane[] = [
  { name: 'dump', model: vllm(4), rows: [['sleep', 'criu.dump hang', 'none', 'fresh', LATE]] },
  { name: 'return', model: vllm(4), rows: [['wake', 'criu.restore hang', 'disk', 'fresh', NOT_BACK]] },
];

/** To disk with all that it has on the GPU. */
const WHOLE: Lane = {
  name: 'whole',
  model: vllm(4),
  rows: [
    ['asleep', 'nothing', 'disk', 'same'],
    ['sleep', 'cuda.lock fail', 'none', 'fresh', /could not lock process/],
    ['sleep', 'cuda.checkpoint fail', 'none', 'fresh', /could not checkpoint process/],
    ['sleep', 'criu.dump fail', 'none', 'fresh', /Can't dump file 33/],
    ['wake', 'criu.restore fail', 'disk', 'fresh', /was changed or removed while it was on disk/],
    ['wake', 'cuda.restore fail', 'disk', 'fresh', /could not restore process/],
    ['wake', 'cuda.unlock fail', 'disk', 'fresh', /could not unlock process/],
  ],
};

/** Where the plugin of criu sees to the GPU, each process is asked for its state afterwards: criu ends well all the same. */
const BY_PLUGIN: Lane = {
  name: 'plugin',
  model: vllm(4),
  rows: [
    ['asleep', 'nothing', 'disk', 'same'],
    ['sleep', 'vllm.sleep fail', 'none', 'fresh', /\/sleep: it answered 500/],
    ['sleep', 'criu.dump fail', 'none', 'fresh', /Can't dump file 33/],
    ['wake', 'criu.restore fail', 'disk', 'fresh', /was changed or removed while it was on disk/],
    ['wake', 'criu.restore plugin', 'disk', 'fresh', /should be running and is checkpointed/],
    ['wake', 'cuda.state lie', 'disk', 'fresh', /should be running and is checkpointed/],
    ['wake', 'cuda.state fail', 'disk', 'fresh', /should be running and is gone/],
    ['wake', 'cuda.state hang', 'disk', 'fresh', /CUDA state of process \d+ could not be read: it did not end within/],
  ],
};

/** Those that mostly wait do so together. */
const begin = { fails: test, hangs: test.concurrent };

for (const [what, lanes, root] of [
  ['hangs', DISK_HANGS, patient],
  ['fails', ON_DISK, whole],
] as const)
  begin[what](
    `whatever ${what} on the way to disk, there, or on the way back, the next model is served, and it comes back`,
    { timeout: LIMIT_MS },
    async ({ expect, start, folder, skip }) => {
      const lab = labOf(folder, lanes);
      lab.useCriu(await requireCriu({ skip }));
      await allAsSaid({ expect, start, folder }, lanes, root, lab);
    },
  );

for (const [how, lane, ways] of [
  ['with all of its memory', WHOLE, () => ({ sleep_first: 'none' })],
  ['by the plugin of criu', BY_PLUGIN, (lab) => ({ cuda_driver: 'plugin', cuda_plugin_dir: lab.plugin() })],
] as const satisfies readonly (readonly [string, Lane, (lab: Lab) => ConfigInput['checkpoint']])[])
  test.concurrent(
    `whatever goes wrong to disk ${how}, the next model is served, and it comes back`,
    { timeout: LIMIT_MS },
    async ({ expect, start, folder, skip }) => {
      const lab = labOf(folder, [lane]);
      lab.useCriu(await requireCriu({ skip }));
      const checkpoint = { ...lab.root.checkpoint, ...ways(lab) };
      await allAsSaid({ expect, start, folder }, [lane], { ...patient, checkpoint }, lab);
      const slept = lab.ledger.events('called', lane.name).some(({ detail }) => detail.startsWith('POST /sleep'));
      expect(slept).toBe(lane === BY_PLUGIN);
    },
  );
