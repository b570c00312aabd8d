import { test } from '../helpers/e2e.ts';
import type { Lane } from '../helpers/fault-lanes.ts';
import {
  allAsSaid,
  gpu,
  labOf,
  LATE,
  LIMIT_MS,
  patient,
  SMALL,
  TOGETHER,
  vllm,
  whole,
} from '../helpers/fault-scene.ts';
import { TWO_GPUS, type Lab } from '../helpers/lab.ts';

/**
 * Every sleep level, leg by leg, against everything that is known to go wrong with it: which level the engine ends at, what it holds
 * of the GPU then, that the next model is served, how it comes back, and what the operator reads.
 */

const IN_VAIN = 'vllm.wake none + vllm.wake garbage';

const LANES: readonly Lane[] = [
  {
    name: 'one',
    model: vllm(1, { allowed: [1, 2, 5], settings: { version: '0.13.0' } }),
    rows: [
      ['asleep', 'nothing', 'host', 'same'],
      ['sleep', 'vllm.sleep fail', 'dropped', 'same', /at level 1: vLLM \/sleep: it answered 500.*level 2 is tried/],
      ['sleep', 'vllm.sleep not-freed', 'none', 'fresh', /memory is not back: its processes still hold/],
      ['sleep', 'vllm.sleep die', 'none', 'fresh', /vLLM ended/],
      ['asleep', 'killed', 'host', 'fresh', /ended by SIGKILL|the connection failed/],
      ['wake', 'vllm.wake oom', 'host', 'fresh', /\/wake_up: it answered 500: .*out of memory/],
      ['wake', 'vllm.wake die', 'host', 'fresh', /vLLM/],
      ['wake', 'vllm.wake garbage', 'host', 'fresh', /answers rubbish after level 1/],
    ],
  },
  {
    name: 'two',
    model: vllm(2, { settings: { version: '0.22.0' } }),
    rows: [
      ['asleep', 'nothing', 'dropped', 'same'],
      ['sleep', 'vllm.sleep fail', 'none', 'fresh', /at level 2: vLLM \/sleep: it answered 500.*stopped instead/],
      ['sleep', 'vllm.sleep not-freed', 'none', 'fresh', /memory is not back/],
      ['sleep', 'vllm.sleep die', 'none', 'fresh', /vLLM ended/],
      ['asleep', 'killed', 'dropped', 'fresh', /ended by SIGKILL|the connection failed/],
      ['wake', 'vllm.wake oom', 'dropped', 'fresh', /out of memory/],
      ['wake', 'vllm.wake none + vllm.wake oom', 'dropped', 'fresh', /out of memory/],
      ['wake', 'vllm.wake die', 'dropped', 'fresh', /vLLM/],
      ['wake', 'vllm.reload fail', 'dropped', 'fresh', /\/collective_rpc: it answered 500: default_weight_loader/],
      ['wake', IN_VAIN, 'dropped', 'fresh', /answers rubbish after level 2/],
    ],
  },
  {
    name: 'frees-nothing',
    model: vllm(1, { allowed: [1, 2, 3, 5], settings: { version: '0.15.1' } }),
    rows: [['sleep', 'nothing', 'suspended', 'same', /0\.15\.1 cannot be put to level 1: its sleep frees no memory/]],
  },
  {
    name: 'three',
    model: vllm(3),
    rows: [
      ['asleep', 'nothing', 'suspended', 'same'],
      ['sleep', 'cuda.lock fail', 'none', 'fresh', /could not lock process \d+: .*not ready.*stopped instead/],
      ['sleep', 'cuda.lock not-permitted', 'none', 'fresh'],
      // A lock that failed is taken back, and whoever is not well by his own word goes to his end.
      ['sleep', 'cuda.lock fail + cuda.state lie', 'none', 'fresh', /could not lock process/],
      ['sleep', 'cuda.checkpoint fail', 'none', 'fresh', /could not checkpoint process \d+: .*unknown error/],
      ['sleep', 'cuda.checkpoint lie', 'none', 'fresh', /memory is not back/],
      ['asleep', 'killed', 'suspended', 'fresh', /ended by SIGKILL|the connection failed/],
      ['wake', 'cuda.restore fail', 'suspended', 'fresh', /could not restore process \d+/],
      ['wake', 'cuda.unlock fail', 'suspended', 'fresh', /could not unlock process \d+/],
    ],
  },
  {
    name: 'together-unsaid',
    gpus: 2,
    model: vllm(3, {}, ['--config', TWO_GPUS]),
    rows: [
      ['sleep', 'nothing', 'none', 'fresh', /at level 3: .*in 2 processes on 2 GPUs.*use level 5.*stopped instead/],
    ],
  },
  {
    name: 'hybrid',
    gpus: 2,
    model: vllm('hybrid', {}, TOGETHER),
    rows: [
      ['asleep', 'nothing', 'suspended', 'same'],
      ['sleep', 'vllm.sleep fail', 'none', 'fresh', /\/sleep: it answered 500/],
      ['sleep', 'vllm.communicator fail', 'none', 'fresh', /ncclCommDestroy failed/],
      // Of two processes one fails.
      ['sleep', 'cuda.lock fail', 'none', 'fresh', /could not lock process \d+/],
      ['sleep', 'cuda.checkpoint lie', 'none', 'fresh', /memory is not back/],
    ],
  },
  ...(
    [
      ['cuda.checkpoint fail', 'sleep', 'none', /could not checkpoint process \d+/],
      ['cuda.restore fail', 'wake', 'suspended', /could not restore process \d+/],
      ['cuda.unlock fail', 'wake', 'suspended', /could not unlock process \d+/],
      ['vllm.communicator fail', 'wake', 'suspended', /ncclCommDestroy failed/],
      ['vllm.reload fail', 'wake', 'suspended', /default_weight_loader/],
    ] as const
  ).map(([fault, leg, at, told], number): Lane => ({
    // What did not come back once is not put there again, so each has an engine of its own.
    name: `hybrid-${number}`,
    gpus: 2,
    model: vllm('hybrid', {}, TOGETHER),
    rows: [[leg, fault, at, 'fresh', told]],
  })),
  {
    name: 'ends',
    model: vllm(5),
    rows: [
      ['sleep', 'nothing', 'none', 'fresh'],
      ['sleep', 'vllm.end orphan', 'none', 'fresh'],
    ],
  },
  {
    name: 'sglang',
    model: (lab) => lab.sglang({ ...SMALL, lagMs: 0 }, { sleep_level: 1 }),
    rows: [
      ['asleep', 'nothing', 'host', 'same'],
      ['sleep', 'sglang.release fail', 'none', 'fresh', /torch_memory_saver: pause failed/],
      ['sleep', 'sglang.release not-freed', 'none', 'fresh', /memory is not back/],
      ['sleep', 'sglang.release die', 'none', 'fresh', /SGLang ended/],
    ],
  },
  {
    name: 'sglang-loads',
    model: (lab) => lab.sglang({ ...SMALL, lagMs: 0 }, { sleep_level: 2 }),
    rows: [['wake', 'sglang.update fail', 'dropped', 'fresh', /update_weights_from_disk: it answered 400.*not match/]],
  },
  {
    name: 'sglang-frozen',
    model: (lab) => lab.sglang({ ...SMALL, lagMs: 0 }, { sleep_level: 3 }),
    rows: [
      ['asleep', 'nothing', 'suspended', 'same'],
      ['sleep', 'cuda.checkpoint fail', 'none', 'fresh', /could not checkpoint process/],
    ],
  },
  {
    name: 'tabby',
    model: (lab) => lab.tabby({ weightsMib: 600, cacheMib: 400 }, { sleep_level: 2, env: { LAB_MODEL: 'tabby' } }),
    rows: [
      ['asleep', 'nothing', 'dropped', 'same'],
      ['sleep', 'tabby.unload fail', 'suspended', 'same', /unload: it answered 500.*level 3 is tried/],
      ['sleep', 'tabby.unload not-freed', 'none', 'fresh', /memory is not back/],
      ['sleep', 'tabby.unload die', 'none', 'fresh', /TabbyAPI ended/],
      ['wake', 'tabby.load oom', 'dropped', 'fresh', /Insufficient VRAM/],
      ['wake', 'tabby.load die', 'dropped', 'fresh', /TabbyAPI/],
    ],
  },
];

/** What hangs does so until its limit; each has an engine of its own, so that all of them wait together. */
const HANGS: readonly Lane[] = (
  [
    ['one-asleep', vllm(1, { allowed: [1, 3, 5] }), 'sleep', 'vllm.sleep hang', 'suspended', /level 3 is tried/],
    ['one-awake', vllm(1), 'wake', 'vllm.wake hang', 'host', /\/wake_up: it did not answer within/],
    ['two-asleep', vllm(2), 'sleep', 'vllm.sleep hang', 'none', /\/sleep: it did not answer within/],
    ['two-awake', vllm(2), 'wake', 'vllm.wake none + vllm.wake hang', 'dropped', /\/wake_up: it did not answer within/],
    ['two-loads', vllm(2), 'wake', 'vllm.reload hang', 'dropped', /\/collective_rpc: it did not answer within/],
    ['three-locks', vllm(3), 'sleep', 'cuda.lock hang', 'none', LATE],
    ['three-freezes', vllm(3), 'sleep', 'cuda.checkpoint hang', 'none', LATE],
    ['three-thaws', vllm(3), 'wake', 'cuda.restore hang', 'suspended', LATE],
    ['three-stands', vllm(3), 'wake', 'cuda.unlock lie', 'suspended', /answers nothing within/],
    ['hybrid-freezes', vllm('hybrid', {}, TOGETHER), 'sleep', 'cuda.checkpoint hang', 'none', LATE],
    ['hybrid-thaws', vllm('hybrid', {}, TOGETHER), 'wake', 'cuda.restore hang', 'suspended', LATE],
    // What is half asleep goes to no other level.
    [
      'sglang-asleep',
      (lab: Lab) => lab.sglang({ ...SMALL, lagMs: 0 }, { sleep_level: 1 }),
      'sleep',
      'sglang.release hang',
      'none',
      /release.*did not answer within/,
    ],
    [
      'sglang-back',
      (lab: Lab) => lab.sglang({ ...SMALL, lagMs: 0 }, { sleep_level: 1 }),
      'wake',
      'sglang.resume oom',
      'host',
      /resume.*did not answer within/,
    ],
    [
      'tabby-asleep',
      (lab: Lab) =>
        lab.tabby(
          { weightsMib: 600, cacheMib: 400 },
          { sleep_level: 2, levels_allowed: [2, 5], env: { LAB_MODEL: 'tabby-asleep' } },
        ),
      'sleep',
      'tabby.unload hang',
      'none',
      /unload: it did not answer within/,
    ],
  ] as const
).map(([name, model, leg, fault, at, told]) => ({
  name,
  gpus: name.startsWith('hybrid') ? 2 : 1,
  model,
  rows: [[leg, fault, at, 'fresh', told]],
}));

/** What nvidia-smi says, or does not: what cannot be seen is not believed, unless it could never be seen. */
const READINGS: Lane = {
  name: 'read',
  model: vllm(1),
  rows: [
    ['sleep', 'smi slow', 'host', 'same'],
    ['sleep', 'smi garbage', 'none', 'fresh', /says what cannot be read/],
    ['sleep', 'smi silent', 'none', 'fresh', /names none of its processes any more/],
    ['sleep', 'smi no-driver', 'none', 'fresh', /ended with code 9/],
    ['sleep', 'smi missing', 'none', 'fresh', /was not found \(gpu\.nvidia_smi_path\)/],
    ['sleep', 'smi hang', 'none', 'fresh', /did not answer: it did not end within/],
  ],
};

/** Where the driver names nobody, as in some containers, each process is asked whether it is on a GPU. */
const UNNAMED: readonly Lane[] = [
  {
    name: 'unnamed',
    model: vllm(3),
    rows: [
      ['asleep', 'nothing', 'suspended', 'same'],
      ['sleep', 'cuda.state lie', 'none', 'fresh', /a process of vLLM is checkpointed already/],
      ['sleep', 'cuda.state fail', 'none', 'fresh', /no process of vLLM uses CUDA/],
    ],
  },
  {
    name: 'unnamed-hangs',
    model: vllm(3),
    rows: [
      ['sleep', 'cuda.state hang', 'none', 'fresh', /could not be read: it did not end within|did not finish in time/],
    ],
  },
];

/** Long enough for what is well, on a machine that has much to do. */
const SHORT = 15;
const short = { sleep_timeout_secs: SHORT, wake_timeout_secs: SHORT, startup_timeout_secs: 3 * SHORT };

/** Those that mostly wait do so together. */
const begin = { fails: test, hangs: test.concurrent };

for (const [what, lanes, root] of [
  ['fails', LANES, whole],
  ['hangs', HANGS, short],
] as const)
  begin[what](
    `whatever ${what} on the way to sleep, in it, or on the way back, the next model is served, and it comes back`,
    { timeout: LIMIT_MS },
    ({ expect, start, folder }) => allAsSaid({ expect, start, folder }, lanes, root),
  );

test.concurrent(
  'where the driver says nothing of use no sleep is believed',
  { timeout: LIMIT_MS },
  ({ expect, start, folder }) => {
    const lab = labOf(folder, [READINGS]);
    return allAsSaid({ expect, start, folder }, [READINGS], { gpu: { ...gpu(lab), read_timeout_secs: 4 } }, lab);
  },
);

test.concurrent(
  'where the driver names no process, what each says of itself is not believed when it cannot be',
  { timeout: LIMIT_MS },
  async ({ expect, start, folder }) => {
    const lab = labOf(folder, UNNAMED);
    lab.ledger.plan({ point: 'smi', kind: 'no-processes', times: 1_000_000 });
    await allAsSaid({ expect, start, folder }, UNNAMED, patient, lab);
  },
);
