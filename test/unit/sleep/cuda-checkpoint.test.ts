import { test } from 'vitest';
import type { Answer } from '../../../src/ports/process.ts';
import { CudaCheckpoint } from '../../../src/sleep/cuda-checkpoint.ts';
import { ScriptedChild, ScriptedProcesses } from '../engines/scripted-ports.ts';

type Terms = { readonly isRoot?: boolean; readonly isThere?: boolean };

/** cuda-checkpoint on a machine that answers as the test says, and what it was told. */
function cudaOn(
  answer: (argv: readonly string[], limitMs: number) => Answer,
  { isRoot = true, isThere = true }: Terms = {},
) {
  const processes = new ScriptedProcesses();
  const told: string[] = [];
  processes.answer = (argv, limitMs) => {
    told.push(argv.join(' '));
    return answer(argv, limitMs);
  };
  const machine = { isRoot, mapsGpu: async () => [], availableMib: async () => undefined };
  const find = async (path: string) => (isThere ? { path, mark: '1' } : undefined);
  const program = 'cuda-checkpoint';
  return {
    told,
    cuda: new CudaCheckpoint({
      program,
      programs: { find },
      processes,
      machine,
      limits: { sleepMs: 1_000, wakeMs: 2_000 },
    }),
  };
}

const onAny = () => ({ child: new ScriptedChild(7), signal: new AbortController().signal });
const helps =
  (text: string) =>
  (argv: readonly string[]): Answer => ({ code: 0, output: argv.includes('--help') ? text : '' });

test('without the program, and without the rights to use it, it is refused with what to change', async ({ expect }) => {
  const refused = (): Answer => ({ code: 1, output: 'sudo: a password is required' });
  expect(await cudaOn(refused, { isThere: false }).cuda.hindrance()).toBe(
    'cuda-checkpoint was not found (checkpoint.cuda_checkpoint_path)',
  );
  expect(await cudaOn(refused, { isRoot: false }).cuda.hindrance()).toBe(
    'cuda-checkpoint needs root: run catnap as root, or allow it in sudoers without a password',
  );
  expect(await cudaOn(helps(''), { isRoot: false }).cuda.hindrance()).toBeUndefined();
  expect(await cudaOn(refused).cuda.hindrance()).toBeUndefined();
});

test('a process without CUDA has no state', async ({ expect }) => {
  const { cuda } = cudaOn(() => ({ code: 1, output: 'Could not find restore thread for process ID 7' }));
  expect(await cuda.stateOf(7, onAny())).toBeUndefined();
});

test('the limit of a lock is given to programs that know one', async ({ expect }) => {
  for (const [help, told] of [
    ['--toggle --action --timeout', 'cuda-checkpoint --action lock --pid 7 --timeout 10000'],
    ['--toggle --action', 'cuda-checkpoint --action lock --pid 7'],
  ] as const) {
    const lab = cudaOn(helps(help));
    await lab.cuda.act('lock', 7, onAny());
    expect(lab.told.at(-1)).toBe(told);
  }
});

test('a step is bounded by the limit of the way on which it lies', async ({ expect }) => {
  const { cuda } = cudaOn((_, limitMs) => ({
    code: null,
    output: '',
    why: `it did not end within ${limitMs / 1_000} s`,
  }));
  for (const [action, secs] of [
    ['checkpoint', 1],
    ['restore', 2],
    ['unlock', 2],
  ] as const)
    await expect(cuda.act(action, 7, onAny())).rejects.toThrow(
      `could not ${action} process 7: it did not end within ${secs} s`,
    );
});

test('what it can do is not concluded from an answer that did not come', async ({ expect }) => {
  let answer: Answer = { code: null, output: '', why: 'it was ended by SIGKILL' };
  const { cuda } = cudaOn(() => answer);
  await expect(cuda.hasSteps()).rejects.toThrow('cuda-checkpoint --help did not answer: it was ended by SIGKILL');
  answer = { code: 0, output: '--toggle --action --timeout' };
  expect(await cuda.hasSteps()).toBe(true);
});
