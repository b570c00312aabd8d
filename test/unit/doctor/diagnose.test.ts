import { describe, expect, test } from 'vitest';
import { diagnose } from '../../../src/doctor/diagnose.ts';
import type { Machine, ModelSeen } from '../../../src/doctor/machine.ts';
import { diagnosisText } from '../../../src/doctor/text.ts';

const vllm = { command: 'vllm', key: 'vllm_command', models: ['alpha'], path: '/usr/bin/vllm', version: '0.29.0' };
const tool = { path: '/usr/bin/cuda-checkpoint', acts: true, mayRun: true };
const machine: Machine = {
  version: '1.2.3',
  node: '24.11.1',
  system: 'Linux 6.18 x64',
  isRoot: false,
  sudo: true,
  engines: [vllm],
  gpu: {
    kind: 'read',
    driver: '580.95.05',
    devices: [{ name: 'NVIDIA L40', totalMib: 46_068, freeMib: 44_000 }],
    forgets: false,
    isSplit: false,
    absent: [],
  },
  cudaCheckpoint: tool,
  criuHindrance: undefined,
  memory: {
    totalMib: 64_000,
    availableMib: 50_000,
    groupLimitMib: undefined,
    openFiles: 65_536,
    processNumbers: 4_194_304,
  },
  ports: [{ key: 'port', port: 3_000, isFree: true }],
  stateDir: { path: '/var/lib/catnap', fault: undefined, heldBy: undefined },
  imagesDir: { path: '/var/lib/images', freeMib: 100_000 },
};
const alpha: ModelSeen = {
  model: 'alpha',
  backend: 'vllm_serve',
  wanted: 1,
  allowed: [1, 2, 5],
  sensible: [1, 2, 3, 'hybrid', 4, 5],
  works: [1, 2, 5],
  program: vllm,
  knownBad: new Map(),
  failed: new Map(),
  passed: [],
};

/** What of a machine is not good, and what keeps a model from each level. */
const told = (of: Partial<Machine>) =>
  diagnose({ ...machine, ...of }, [alpha]).findings.flatMap(({ what, state, says }) =>
    state === 'good' ? [] : [`${state} ${what}: ${says}`],
  );
const levels = (of: Partial<ModelSeen>, on: Partial<Machine> = {}) =>
  Object.fromEntries(
    diagnose({ ...machine, ...on }, [{ ...alpha, ...of }]).models[0]?.levels.map(({ level, missing }) => [
      level,
      missing.join('; '),
    ]) ?? [],
  );

test('a machine that has everything', ({ expect }) => {
  const diagnosis = diagnose(machine, [alpha]);
  expect(diagnosis.well).toBe(true);
  expect(told({})).toEqual([]);
  expect(diagnosisText(diagnosis)).toMatch(/^ok {3}GPU +driver 580\.95\.05; NVIDIA L40, 44000 of 46068 MiB free$/m);
  expect(diagnosisText(diagnosis)).toMatch(/^ {2}-> level 1 +can work$/m);
  expect(diagnosisText(diagnosis)).toMatch(/All that the config asks for can work here\.\n$/);
});

describe('what is told of the machine', () => {
  test.for<[string, Partial<Machine>, string[], boolean]>([
    [
      'an engine that is not there',
      { engines: [{ ...vllm, path: undefined }] },
      ['bad vllm: was not found (for alpha): install it, or set vllm_command'],
      false,
    ],
    [
      'an engine that nobody needs yet',
      { engines: [{ ...vllm, models: [], path: undefined }] },
      ['note vllm: was not found: install it, or set vllm_command'],
      true,
    ],
    [
      'a driver that does not answer',
      { gpu: { kind: 'failed', reason: 'nvidia-smi ended with code 9' } },
      ['bad GPU: nvidia-smi ended with code 9'],
      false,
    ],
    [
      'GPUs on which nothing can be suspended safely',
      {
        gpu: {
          kind: 'read',
          driver: '580',
          devices: [{ name: 'NVIDIA A100', totalMib: 40_000, freeMib: 40_000 }],
          forgets: true,
          isSplit: true,
          absent: [],
        },
      },
      [
        expect.stringMatching(/^note persistence mode: is off: .*nvidia-smi -pm 1/),
        expect.stringMatching(/^note MIG: is on: /),
      ],
      true,
    ],
    ['no criu', { criuHindrance: 'sleep level 4 needs criu' }, ['note criu: sleep level 4 needs criu'], true],
    [
      'no rights',
      { sudo: false, cudaCheckpoint: { ...tool, mayRun: false }, criuHindrance: 'no' },
      ['note criu: no', 'note rights: neither root nor sudo without a password: levels 3 and 4 need one of them'],
      true,
    ],
    [
      'an old cuda-checkpoint',
      { cudaCheckpoint: { path: '/c', acts: false, mayRun: true } },
      ['note cuda-checkpoint: /c knows no --action: it freezes one process at a time'],
      true,
    ],
    [
      'little memory, few files, few process numbers',
      { memory: { totalMib: 2_000, availableMib: 300, groupLimitMib: 512, openFiles: 256, processNumbers: 32_768 } },
      [
        'note memory: 300 of 2000 MiB available; the control group allows 512 MiB',
        'note open files: 256 at most (ulimit -n): few for many connections',
        expect.stringMatching(/^note process numbers: 32768 \(kernel\.pid_max\): .*; sysctl kernel\.pid_max=4194304/),
      ],
      true,
    ],
    [
      'a port that is taken',
      { ports: [{ key: 'port', port: 3_000, isFree: false }] },
      ['bad port: 3000 is in use by another program: end it, or change port'],
      false,
    ],
    [
      'a folder that cannot be used',
      { stateDir: { path: '/x', fault: 'we may not write to /', heldBy: undefined } },
      ['bad state_dir: /x: we may not write to /'],
      false,
    ],
  ])('%s', ([, of, lines, well], { expect }) => {
    expect(told(of)).toEqual(lines);
    expect(diagnose({ ...machine, ...of }, []).well).toBe(well);
  });

  test("ports of a catnap that runs are nobody else's", ({ expect }) => {
    const heldBy = 'in use by another catnap (process 41)';
    expect(
      told({ ports: [{ key: 'port', port: 3_000, isFree: false }], stateDir: { ...machine.stateDir, heldBy } }),
    ).toEqual([]);
  });
});

describe('what keeps a model from a level', () => {
  test('this version, and then the machine', ({ expect }) => {
    const bare: Partial<Machine> = {
      gpu: { kind: 'absent', reason: 'no' },
      cudaCheckpoint: undefined,
      sudo: false,
      criuHindrance: 'no criu',
    };
    expect(levels({}, bare)).toEqual({
      1: '',
      2: '',
      3: 'this version does not do it for vllm_serve; no GPU can be seen; cuda-checkpoint is not there; it needs root, or sudo without a password for cuda-checkpoint',
      hybrid:
        'this version does not do it for vllm_serve; no GPU can be seen; cuda-checkpoint is not there; it needs root, or sudo without a password for cuda-checkpoint',
      4: 'this version does not do it for vllm_serve; no criu',
      5: '',
    });
  });

  test('an old cuda-checkpoint keeps from hybrid alone, and none from level 4 as well where there are GPUs', ({
    expect,
  }) => {
    const all: Partial<ModelSeen> = { allowed: [1, 2, 3, 'hybrid', 4, 5], works: [1, 2, 3, 'hybrid', 4, 5] };
    expect(levels(all, { cudaCheckpoint: { path: '/c', acts: false, mayRun: true } })).toMatchObject({
      3: '',
      hybrid: 'cuda-checkpoint with --action is not there',
      4: '',
    });
    expect(levels(all, { cudaCheckpoint: undefined })).toMatchObject({
      3: 'cuda-checkpoint is not there',
      4: 'cuda-checkpoint is not there',
    });
    expect(levels({ ...all, backend: 'llama_server' }, { cudaCheckpoint: undefined })).toMatchObject({ 4: '' });
  });

  test('sudo that is allowed for the tools alone is enough, and each of them needs it', ({ expect }) => {
    const all: Partial<ModelSeen> = { allowed: [1, 2, 3, 'hybrid', 4, 5], works: [1, 2, 3, 'hybrid', 4, 5] };
    expect(levels(all, { sudo: false })).toMatchObject({ 3: '', hybrid: '', 4: '' });
    expect(told({ sudo: false })).toEqual([]);
    const lacks = 'it needs root, or sudo without a password for cuda-checkpoint';
    const without = levels(all, { sudo: false, cudaCheckpoint: { ...tool, mayRun: false } });
    expect(without).toMatchObject({ 3: lacks, hybrid: lacks, 4: lacks });
  });

  test('its settings, its version, its verdicts', ({ expect }) => {
    const of: Partial<ModelSeen> = {
      allowed: [1, 5],
      knownBad: new Map([[1, 'vLLM 0.15.1: its sleep frees no memory']]),
      failed: new Map([[5, 'cycle 2: its answer is empty']]),
    };
    expect(levels(of)).toMatchObject({
      1: 'vLLM 0.15.1: its sleep frees no memory',
      2: 'levels_allowed leaves it out',
      5: 'it failed its validation: cycle 2: its answer is empty',
    });
  });

  test('all is well unless it is the level that is wanted', ({ expect }) => {
    const failed = new Map([[1, 'why'] as const]);
    expect(diagnose(machine, [{ ...alpha, failed }]).well).toBe(false);
    expect(diagnose(machine, [{ ...alpha, failed, wanted: 2 }]).well).toBe(true);
    expect(diagnosisText(diagnose(machine, [{ ...alpha, passed: [1] }]))).toMatch(/-> level 1 +works \(validated\)/);
  });
});
