import { test } from 'vitest';
import { NvidiaSmi } from '../../../src/adapters/nvidia-smi.ts';
import type { Answer } from '../../../src/ports/process.ts';
import type { GpuSight } from '../../../src/ports/gpu.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';

const GPUS = 'GPU-a, 0, NVIDIA L40, 46068, 1341, 44727\nGPU-b, 1, NVIDIA L40, 46068, 0, [N/A]\n';
const APPS = '1778746, GPU-a, 7392\n12, GPU-b, [N/A]\n';

function tool({
  there = true,
  gpus = { code: 0, output: GPUS },
  apps = { code: 0, output: APPS },
}: { there?: boolean; gpus?: Answer; apps?: Answer } = {}) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const ask = async (argv: readonly string[]): Promise<Answer> => {
    asked.push(argv[1]?.split('=')[0] ?? '');
    return argv[1]?.startsWith('--query-gpu=') === true ? gpus : apps;
  };
  const find = async () => (there ? { path: '/usr/bin/nvidia-smi', mark: '1' } : undefined);
  const settings = { nvidia_smi_path: 'nvidia-smi', read_timeout_secs: 10 };
  return { clock, asked, smi: new NvidiaSmi(settings, { clock, programs: { find }, processes: { ask } }) };
}

test('devices and processes are read by the order in which they were asked for', async ({ expect }) => {
  const { smi } = tool();
  const sight: GpuSight = await smi.read(0);
  expect(sight).toMatchObject({
    kind: 'read',
    reading: {
      devices: [
        { uuid: 'GPU-a', index: 0, name: 'NVIDIA L40', totalMib: 46_068, usedMib: 1_341, freeMib: 44_727 },
        { uuid: 'GPU-b', index: 1, totalMib: 46_068, usedMib: 0, freeMib: 46_068 },
      ],
      processes: [
        { pid: 1_778_746, uuid: 'GPU-a', usedMib: 7_392 },
        { pid: 12, uuid: 'GPU-b', usedMib: undefined },
      ],
    },
  });
});

test('those who ask at the same time share one reading, and an old one is not given', async ({ expect }) => {
  const { smi, clock, asked } = tool();
  await Promise.all([smi.read(0), smi.read(0), smi.read(500)]);
  expect(asked).toHaveLength(2);
  await clock.advance(1_000);
  await smi.read(5_000);
  expect(asked).toHaveLength(2);
  await smi.read(500);
  expect(asked).toHaveLength(4);
});

test('a tool that is not there, fails or hangs is told as what it is', async ({ expect }) => {
  expect(await tool({ there: false }).smi.read(0)).toEqual({
    kind: 'absent',
    reason: 'nvidia-smi was not found (gpu.nvidia_smi_path)',
  });
  const broken = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.";
  expect(await tool({ gpus: { code: 9, output: `${broken}\nMore.` } }).smi.read(0)).toEqual({
    kind: 'failed',
    reason: `nvidia-smi ended with code 9: ${broken}`,
  });
  expect(await tool({ apps: { code: null, output: '', why: 'it did not end within 10 s' } }).smi.read(0)).toEqual({
    kind: 'failed',
    reason: 'nvidia-smi did not answer: it did not end within 10 s',
  });
});

test('lines that are something else are passed over, unless there is nothing but those', async ({ expect }) => {
  expect(await tool({ gpus: { code: 0, output: `${GPUS}WARNING: infoROM is corrupted\n` } }).smi.read(0)).toMatchObject(
    {
      kind: 'read',
    },
  );
  expect(await tool({ gpus: { code: 0, output: 'Segmentation fault\n' } }).smi.read(0)).toEqual({
    kind: 'failed',
    reason: 'nvidia-smi says what cannot be read: Segmentation fault',
  });
  const apps = { code: 0, output: 'No running processes found\n' };
  expect(await tool({ apps }).smi.read(0)).toMatchObject({ kind: 'read', reading: { processes: [] } });
});
