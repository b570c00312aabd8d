import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { SystemLinks } from '../../../src/adapters/links.ts';
import { askProgram } from '../../../src/adapters/ask-program.ts';
import { testFolder } from '../../helpers/survivors.ts';

test('what this machine can do is measured, and nothing of it stays', async ({ expect, onTestFinished }) => {
  const { path: folder, remove } = testFolder();
  onTestFinished(remove);
  const modelFile = join(folder, 'model.gguf');
  writeFileSync(modelFile, Buffer.alloc(2 * 1_048_576));
  const processes = { ask: askProgram };
  const links = new SystemLinks({ processes, nvidiaSmi: undefined, folder: join(folder, 'images'), modelFile });
  for (const link of ['memory copy', 'page cache read', 'disk write'] as const)
    expect(await links.rate(link), link).toBeGreaterThan(1);
  expect(await links.rate('PCIe')).toBeUndefined();
  expect(readdirSync(join(folder, 'images'))).toEqual([]);
});

test('PCIe is told of each GPU and of the slowest, by what it can do and not by what it does while idle', async ({
  expect,
}) => {
  const answers = (output: string, code = 0) => ({ ask: async () => ({ code, output }) });
  const rate = (output: string, code?: number, gpu?: string) => {
    const processes = answers(output, code);
    const links = new SystemLinks({ processes, nvidiaSmi: 'smi', folder: '/nowhere', modelFile: undefined });
    return links.rate('PCIe', gpu);
  };
  const two = 'GPU-a, 5, 16\nGPU-b, 4, 16\n';
  expect(await rate(two)).toBe(1_878 * 16);
  expect(await rate(two, 0, 'GPU-a')).toBe(3_756 * 16);
  expect(await rate(two, 0, 'GPU-c')).toBeUndefined();
  expect(await rate('GPU-a, [N/A], [N/A]\n')).toBeUndefined();
  expect(await rate('', 9)).toBeUndefined();
});
