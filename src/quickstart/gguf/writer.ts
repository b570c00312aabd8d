import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { impossible } from '../../core/kinds.ts';
import { encodeMetadata, encodeString, encodeU32, encodeU64, type Metadata } from './metadata.ts';
import { tensorBytes, WEIGHT_TYPES, type Tensor } from './tensors.ts';

/** A model file: its header and its weights. */
export type Gguf = {
  readonly metadata: Metadata;
  readonly tensors: readonly Tensor[];
};

const VERSION = 3;
const ALIGNMENT = 32;

/**
 * Makes sure that `file` holds this model, and writes it if it does not. Other processes see the whole file or none of
 * it, and two that write at once do not disturb each other.
 */
export async function ensureGguf(file: string, gguf: Gguf): Promise<void> {
  const head = encodeHead(gguf);
  if (await holds(file, head, gguf)) return;
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${randomUUID()}.part`;
  try {
    await write(draft, head, gguf.tensors);
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/** The header tells everything the weights are made from, so a file with this header and the right size is this model. */
async function holds(file: string, head: Buffer, gguf: Gguf): Promise<boolean> {
  const size = await stat(file).then(
    (found) => found.size,
    () => undefined,
  );
  if (size !== head.length + gguf.tensors.reduce((sum, tensor) => sum + padded(tensorBytes(tensor)), 0)) return false;
  const found = Buffer.alloc(head.length);
  return withFile(file, 'r', async (handle) => {
    const { bytesRead } = await handle.read(found, 0, found.length, 0);
    return bytesRead === found.length && found.equals(head);
  });
}

async function write(file: string, head: Buffer, tensors: readonly Tensor[]): Promise<void> {
  await withFile(file, 'wx', async (handle) => {
    await writeAll(handle, head);
    for (const tensor of tensors) {
      const bytes = tensorBytes(tensor);
      let written = 0;
      for (const piece of tensor.data()) {
        await writeAll(handle, piece);
        written += piece.length;
      }
      if (written !== bytes) impossible(`tensor ${tensor.name} has ${written} bytes where its shape says ${bytes}`);
      await writeAll(handle, Buffer.alloc(padded(bytes) - bytes));
    }
  });
}

async function withFile<T>(file: string, flags: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(file, flags);
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done);
    done += bytesWritten;
  }
}

function encodeHead({ metadata, tensors }: Gguf): Buffer {
  let offset = 0;
  const table = tensors.map((tensor) => {
    const row = Buffer.concat([
      encodeString(tensor.name),
      encodeU32(tensor.shape.length),
      ...tensor.shape.map(encodeU64),
      encodeU32(WEIGHT_TYPES[tensor.type].code),
      encodeU64(offset),
    ]);
    offset += padded(tensorBytes(tensor));
    return row;
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    encodeU32(VERSION),
    encodeU64(tensors.length),
    encodeU64(metadata.length),
    encodeMetadata(metadata),
    ...table,
  ]);
  return Buffer.concat([head, Buffer.alloc(padded(head.length) - head.length)]);
}

const padded = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
