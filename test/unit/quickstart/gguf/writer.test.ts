import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, test } from 'vitest';
import { constantTensor, sparseTensor } from '../../../../src/quickstart/gguf/tensors.ts';
import { ensureGguf } from '../../../../src/quickstart/gguf/writer.ts';
import { testFolder } from '../../../helpers/survivors.ts';

let folder = '';
beforeAll(() => {
  const made = testFolder();
  folder = made.path;
  return made.remove;
});

test('a file is laid out as the format says', async ({ expect }) => {
  const file = join(folder, 'small.gguf');
  await ensureGguf(file, {
    metadata: [
      ['answer', { type: 'u32', value: 42 }],
      ['words', { type: 'strings', value: ['a', 'é'] }],
      ['yes', { type: 'bool', value: true }],
    ],
    tensors: [
      constantTensor({ name: 'ones', shape: [3], type: 'f32' }, 1),
      sparseTensor({ name: 'spot', shape: [2, 2], type: 'f16' }, [{ row: 1, column: 0, value: 2 }]),
    ],
  });
  expect(hex(await readFile(file))).toBe(
    hex(
      Buffer.concat([
        ascii('GGUF'),
        bytes('03000000 0200000000000000 0300000000000000'),
        // answer = u32 42
        bytes('0600000000000000'),
        ascii('answer'),
        bytes('04000000 2a000000'),
        // words = array of two strings
        bytes('0500000000000000'),
        ascii('words'),
        bytes('09000000 08000000 0200000000000000 0100000000000000'),
        ascii('a'),
        bytes('0200000000000000 c3a9'),
        // yes = true
        bytes('0300000000000000'),
        ascii('yes'),
        bytes('07000000 01'),
        // ones: one dimension of 3, f32, at 0
        bytes('0400000000000000'),
        ascii('ones'),
        bytes('01000000 0300000000000000 00000000 0000000000000000'),
        // spot: two dimensions of 2, f16, at 32
        bytes('0400000000000000'),
        ascii('spot'),
        bytes('02000000 0200000000000000 0200000000000000 01000000 2000000000000000'),
        Buffer.alloc(HEAD_PADDING),
        bytes('0000803f 0000803f 0000803f'),
        Buffer.alloc(20),
        bytes('0000 0000 0040 0000'),
        Buffer.alloc(24),
      ]),
    ),
  );
});

test('a write that fails leaves nothing behind', async ({ expect }) => {
  const shelf = join(folder, 'shelf');
  const full = {
    name: 'full',
    shape: [4],
    type: 'f32',
    *data(): Iterable<Buffer> {
      yield Buffer.alloc(8);
      throw new Error('no room');
    },
  } as const;
  await expect(ensureGguf(join(shelf, 'x.gguf'), { metadata: [], tensors: [full] })).rejects.toThrow('no room');
  expect(await readdir(shelf)).toEqual([]);
});

/** The header above has 190 bytes; weights begin at a multiple of 32. */
const HEAD_PADDING = 2;

const ascii = (text: string): Buffer => Buffer.from(text, 'ascii');
const bytes = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const hex = (data: Buffer): string => data.toString('hex');
