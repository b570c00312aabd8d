import { existsSync, mkdirSync, readdirSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'vitest';
import { KeptConversations } from '../../../src/adapters/conversations.ts';
import { engineId, modelId } from '../../../src/core/kinds.ts';
import { writeRandomModel } from '../../../src/quickstart/gguf/models.ts';
import { testFolder } from '../../helpers/survivors.ts';

const alpha = engineId(modelId('alpha'), 0);
const beta = engineId(modelId('beta'), 0);

let own: ReturnType<typeof testFolder>;
let folder: string;
beforeEach(() => {
  own = testFolder();
  folder = join(own.path, 'conversations');
});
afterEach(() => own.remove());

const MIB = 1_048_576;
/** So much is left alone. */
const LEFT = 256 * MIB;
const kept = (maxBytes = 10_000, freeOn = async () => 1_000 * MIB) =>
  new KeptConversations({ folder, maxBytes, freeOn });

/** What a server has written. */
async function written(by: KeptConversations, engine: typeof alpha, files: Readonly<Record<string, number>>) {
  const path = await by.folder(engine);
  for (const [name, size] of Object.entries(files)) writeFileSync(join(path, name), Buffer.alloc(size, 'x'));
  return path;
}

test('what was kept under a key is there for that key alone, closed to others', async ({ expect }) => {
  const by = kept();
  const path = await written(by, alpha, { 'slot-0.bin': 100, 'slot-1.bin': 200, 'slot-2.bin': 5 });
  expect(await by.keep(alpha, 'k', ['slot-0.bin', 'slot-1.bin'])).toBeUndefined();
  expect(readdirSync(path).toSorted()).toEqual(['kept.json', 'slot-0.bin', 'slot-1.bin']);
  expect([folder, path].map((each) => statSync(each).mode & 0o777)).toEqual([0o700, 0o700]);
  expect(statSync(join(path, 'slot-0.bin')).mode & 0o777).toBe(0o600);
  expect(await kept().kept(alpha, 'k')).toEqual(['slot-0.bin', 'slot-1.bin']);
  expect(await kept().kept(beta, 'k')).toEqual([]);
  expect(await kept().kept(alpha, 'other')).toEqual([]);
  expect(readdirSync(path)).toEqual([]);
});

test('a file that is not whole is not given back, and neither is one that was never said to be kept', async ({
  expect,
}) => {
  const by = kept();
  const path = await written(by, alpha, { 'slot-0.bin': 100, 'slot-1.bin': 200 });
  await by.keep(alpha, 'k', ['slot-0.bin', 'slot-1.bin']);
  truncateSync(join(path, 'slot-0.bin'), 50);
  expect(await by.kept(alpha, 'k')).toEqual(['slot-1.bin']);
  await written(by, beta, { 'slot-0.bin': 100 });
  expect(await by.kept(beta, 'k')).toEqual([]);
});

test('a record that cannot be read keeps nothing', async ({ expect }) => {
  const by = kept();
  const path = await written(by, alpha, { 'slot-0.bin': 100 });
  await by.keep(alpha, 'k', ['slot-0.bin']);
  writeFileSync(join(path, 'kept.json'), '{"key":"k"');
  expect(await by.kept(alpha, 'k')).toEqual([]);
  expect(readdirSync(path)).toEqual([]);
});

test('beyond the bound the oldest of the others go first; what is too large by itself is not kept', async ({
  expect,
}) => {
  const by = kept(1_000);
  const [old, young] = [engineId(modelId('old'), 0), engineId(modelId('young'), 0)];
  const paths: string[] = [];
  for (const engine of [old, young]) {
    paths.push(await written(by, engine, { 'slot-0.bin': 300 }));
    await by.keep(engine, 'k', ['slot-0.bin']);
  }
  const [oldPath = '', youngPath = ''] = paths;
  for (const name of readdirSync(oldPath)) utimesSync(join(oldPath, name), 1, 1);
  const path = await written(by, alpha, { 'slot-0.bin': 400 });
  expect(await by.keep(alpha, 'k', ['slot-0.bin'])).toBeUndefined();
  expect([readdirSync(oldPath), readdirSync(youngPath).length]).toEqual([[], 2]);

  await written(by, alpha, { 'slot-0.bin': 1_001 });
  expect(await by.keep(alpha, 'k', ['slot-0.bin'])).toBe(
    'it takes about 1 MiB, and keep_kv_max_mib allows 1 MiB for all together',
  );
  expect(readdirSync(path)).toEqual([]);
  expect(readdirSync(youngPath)).toHaveLength(2);
});

test('room is made before anything is written: nobody goes for what would not fit all the same', async ({ expect }) => {
  let free = LEFT + 100;
  const by = kept(10_000, async () => free);
  const path = await written(by, beta, { 'slot-0.bin': 500 });
  await by.keep(beta, 'k', ['slot-0.bin']);
  const size = readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
  expect(await by.room(alpha, { total: 10_001, toCome: 10_001 })).toMatch(/^it takes about 1 MiB, and keep_kv_max_mib/);
  expect(await by.room(alpha, { total: size + 101, toCome: size + 101 })).toBe(
    `about 1 MiB are to be written, and the disk of ${folder} has 1 MiB to give (256 MiB are left alone)`,
  );
  expect(readdirSync(path)).toHaveLength(2);
  expect(await by.room(alpha, { total: 100, toCome: 100 })).toBeUndefined();
  expect(readdirSync(path)).toHaveLength(2);
  // What one was promised is no other's, until it is kept or dropped.
  free = LEFT + 150;
  const young = engineId(modelId('young'), 0);
  expect(await by.room(young, { total: size + 51, toCome: size + 51 })).toMatch(/are to be written/);
  await by.drop(alpha);
  expect(await by.room(young, { total: size + 51, toCome: size + 51 })).toBeUndefined();
  expect(readdirSync(path)).toEqual([]);
});

test('of engines that keep nothing any more nothing is left', async ({ expect }) => {
  const by = kept();
  const path = await written(by, alpha, { 'slot-0.bin': 100 });
  const other = await written(by, beta, { 'slot-0.bin': 100 });
  await by.keep(beta, 'k', ['slot-0.bin']);
  await by.sweep([beta]);
  expect([existsSync(path), existsSync(other)]).toEqual([false, true]);
  await by.sweep([]);
  expect(readdirSync(folder)).toEqual([]);
});

test('what was cut short as it was written is gone with the next start', async ({ expect }) => {
  const by = kept();
  const path = await written(by, alpha, { 'slot-0.bin': 100, 'slot-1.bin': 3 });
  await by.sweep([alpha]);
  expect(readdirSync(path)).toEqual([]);
});

test('the key is another one as soon as a word or a file among the words is', async ({ expect }) => {
  const file = join(own.path, 'model.gguf');
  writeFileSync(file, Buffer.alloc(10_000_000, 'a'));
  utimesSync(file, 1, 1);
  const first = await kept().keyOf(['--model', file, '--ctx-size', '2048']);
  expect(await kept().keyOf(['--model', file, '--ctx-size', '2048'])).toBe(first);
  expect(await kept().keyOf(['--model', file, '--ctx-size', '4096'])).not.toBe(first);
  expect(await kept().keyOf(['--model', file, '--ctx-size 2048'])).not.toBe(first);
  // The same size and time, other weights.
  writeFileSync(file, Buffer.alloc(10_000_000, 'b'));
  utimesSync(file, 1, 1);
  expect(await kept().keyOf(['--model', file, '--ctx-size', '2048'])).not.toBe(first);
});

/** A header with these numbers, as GGUF writes it. */
function header(values: Readonly<Record<string, string | number | readonly string[] | readonly number[]>>): Buffer {
  const text = (value: string): Buffer => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(Buffer.byteLength(value)));
    return Buffer.concat([length, Buffer.from(value)]);
  };
  const word = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return bytes;
  };
  const long = (value: number): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return bytes;
  };
  const pairs = Object.entries(values).map(([key, value]) => {
    if (typeof value === 'string') return Buffer.concat([text(key), word(8), text(value)]);
    if (typeof value === 'number') return Buffer.concat([text(key), word(4), word(value)]);
    const type = typeof value[0] === 'number' ? 4 : 8;
    const items = value.map((item) => (typeof item === 'number' ? word(item) : text(item)));
    return Buffer.concat([text(key), word(9), word(type), long(value.length), ...items]);
  });
  return Buffer.concat([Buffer.from('GGUF'), word(3), long(0), long(pairs.length), ...pairs]);
}

test('a model that llama-server saves too little of is told by its file', async ({ expect }) => {
  const file = join(own.path, 'model.gguf');
  const unfit = (values: Parameters<typeof header>[0]): Promise<string | undefined> => {
    writeFileSync(file, header(values));
    return kept().unfit(file);
  };
  const words = Array.from({ length: 200_000 }, (_, at) => `word ${at}`);
  const gemma = { 'general.architecture': 'gemma3', 'tokenizer.ggml.tokens': words };
  expect(await unfit({ ...gemma, 'gemma3.attention.sliding_window': 1_024 })).toMatch(/looks back through a window/);
  expect(await unfit({ ...gemma, 'gemma3.attention.sliding_window': 0 })).toBeUndefined();
  expect(await unfit({ 'general.architecture': 'mamba', 'mamba.ssm.state_size': 16 })).toMatch(/recurrent/);
  expect(await unfit({ 'general.architecture': 'qwen3next', 'qwen3next.full_attention_interval': 4 })).toMatch(
    /recurrent/,
  );
  expect(await unfit({ 'general.architecture': 'llama', 'llama.block_count': 2 })).toBeUndefined();
});

test('what a token takes on disk is told by the file and by the types of the cache', async ({ expect }) => {
  const file = join(own.path, 'model.gguf');
  const perToken = (values: Parameters<typeof header>[0], typeK = 'f16', typeV = 'f16') => {
    writeFileSync(file, header({ 'general.architecture': 'llama', ...values }));
    return kept().bytesPerToken({ modelFile: file, typeK, typeV });
  };
  const plain = {
    'llama.block_count': 13,
    'llama.embedding_length': 512,
    'llama.attention.head_count': 8,
    'llama.attention.head_count_kv': 2,
  };
  const beside = 32;
  expect(await perToken(plain)).toBe(13 * 2 * 64 * 4 + beside);
  expect(await perToken(plain, 'q8_0', 'q4_0')).toBe((13 * 2 * 64 * (34 + 18)) / 32 + beside);
  const { 'llama.attention.head_count_kv': _, ...ungrouped } = plain;
  expect(await perToken(ungrouped)).toBe(13 * 8 * 64 * 4 + beside);
  const wide = { 'llama.attention.key_length': 192, 'llama.attention.value_length': 128 };
  expect(await perToken({ ...plain, ...wide })).toBe(13 * 2 * 320 * 2 + beside);
  expect(await perToken({ ...plain, 'llama.attention.head_count_kv': [1, 0, 4] })).toBe(5 * 64 * 4 + beside);
  expect(await perToken(plain, 'q9_9')).toBeUndefined();
  expect(await perToken({ 'llama.block_count': 13 })).toBeUndefined();
  expect(await kept().bytesPerToken({ modelFile: own.path, typeK: 'f16', typeV: 'f16' })).toBeUndefined();
});

test('of a file that cannot be read as a model nothing is said', async ({ expect }) => {
  const file = join(own.path, 'model.gguf');
  for (const bytes of [Buffer.from('GGUF'), Buffer.alloc(0), Buffer.from('ELF'), header({ a: 'b' }).subarray(0, 30)]) {
    writeFileSync(file, bytes);
    expect(await kept().unfit(file)).toBeUndefined();
  }
  const endless = header({ 'general.architecture': 'x' });
  endless.writeBigUInt64LE(0xffff_ffff_ffffn, 24);
  writeFileSync(file, endless);
  expect(await kept().unfit(file)).toBeUndefined();
  mkdirSync(join(own.path, 'folder'));
  expect(await kept().unfit(join(own.path, 'folder'))).toBeUndefined();
  expect(await kept().unfit(join(own.path, 'nothing'))).toBeUndefined();
});

test('the models we make ourselves are fit', async ({ expect }) => {
  const file = join(own.path, 'tiny.gguf');
  await writeRandomModel({ file, seed: 1 });
  expect(await kept().unfit(file)).toBeUndefined();
});
