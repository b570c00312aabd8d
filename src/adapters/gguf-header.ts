import { open, type FileHandle } from 'node:fs/promises';
import { codeOf } from './system-error.ts';

type Value = string | number | readonly number[];

/** Of a header as much is read; the longest lists of words take some MiB. */
const MOST_BYTES = 256 * 1024 * 1024;
const MOST_KEYS = 65_536;
const LONGEST_TEXT = 1024 * 1024;
/** Of numbers: one for each layer. Longer lists are about words. */
const LONGEST_LIST = 4_096;
const CHUNK = 256 * 1024;

/** How many bytes a number of each type takes, by its number in the file. */
const SIZES: Readonly<Record<number, number>> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };
const TEXT = 8;
const LIST = 9;

/** What a GGUF file says of its model, but for lists of words and long ones; undefined when it cannot be read as one. */
export async function readGgufHeader(path: string): Promise<ReadonlyMap<string, Value> | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch {
    return undefined;
  }
  try {
    return await read(new Reader(file));
  } catch (error) {
    if (error instanceof NotGguf || codeOf(error) !== undefined) return undefined;
    throw error;
  } finally {
    await file.close();
  }
}

class NotGguf extends Error {}

async function read(reader: Reader): Promise<Map<string, Value>> {
  if ((await reader.take(4)).toString('latin1') !== 'GGUF') throw new NotGguf();
  const version = (await reader.take(4)).readUInt32LE();
  if (version < 2) throw new NotGguf();
  await reader.count();
  const keys = await reader.count();
  if (keys > MOST_KEYS) throw new NotGguf();
  const found = new Map<string, Value>();
  for (let at = 0; at < keys; at += 1) {
    const key = await reader.text();
    const type = (await reader.take(4)).readUInt32LE();
    if (type === LIST) {
      const list = await readList(reader);
      if (list !== undefined) found.set(key, list);
    } else found.set(key, type === TEXT ? await reader.text() : numberIn(await reader.take(sizeOf(type)), type));
  }
  return found;
}

async function readList(reader: Reader): Promise<readonly number[] | undefined> {
  const type = (await reader.take(4)).readUInt32LE();
  const length = await reader.count();
  if (type === LIST) throw new NotGguf();
  if (type === TEXT) {
    for (let at = 0; at < length; at += 1) await reader.skip(await reader.count());
    return undefined;
  }
  const size = sizeOf(type);
  if (length <= LONGEST_LIST) {
    const bytes = await reader.take(length * size);
    return Array.from({ length }, (_, at) => numberIn(bytes.subarray(at * size, (at + 1) * size), type));
  }
  await reader.skip(length * size);
  return undefined;
}

function sizeOf(type: number): number {
  const size = SIZES[type];
  if (size === undefined) throw new NotGguf();
  return size;
}

function numberIn(bytes: Buffer, type: number): number {
  if (type === 6) return bytes.readFloatLE();
  if (type === 12) return bytes.readDoubleLE();
  if (bytes.length === 8) return Number(type === 11 ? bytes.readBigInt64LE() : bytes.readBigUInt64LE());
  return [1, 3, 5].includes(type) ? bytes.readIntLE(0, bytes.length) : bytes.readUIntLE(0, bytes.length);
}

/** Reads on from where it is, in pieces. */
class Reader {
  readonly #file: FileHandle;
  #position = 0;
  #piece: Buffer = Buffer.alloc(0);
  /** Where in the file the piece begins. */
  #pieceAt = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async take(bytes: number): Promise<Buffer> {
    const from = this.#position - this.#pieceAt;
    if (from < 0 || from + bytes > this.#piece.length) await this.#load(Math.max(bytes, CHUNK));
    const at = this.#position - this.#pieceAt;
    if (at + bytes > this.#piece.length) throw new NotGguf();
    this.#position += bytes;
    return this.#piece.subarray(at, at + bytes);
  }

  async count(): Promise<number> {
    return Number((await this.take(8)).readBigUInt64LE());
  }

  async text(): Promise<string> {
    const length = await this.count();
    if (length > LONGEST_TEXT) throw new NotGguf();
    return (await this.take(length)).toString('utf8');
  }

  async skip(bytes: number): Promise<void> {
    this.#position += bytes;
    if (this.#position > MOST_BYTES) throw new NotGguf();
  }

  async #load(bytes: number): Promise<void> {
    const buffer = Buffer.alloc(bytes);
    const { bytesRead } = await this.#file.read(buffer, 0, bytes, this.#position);
    this.#piece = buffer.subarray(0, bytesRead);
    this.#pieceAt = this.#position;
  }
}
