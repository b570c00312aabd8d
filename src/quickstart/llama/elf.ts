/** What the two patches below cannot be done to. */
export class ElfError extends Error {
  override readonly name = 'ElfError';
}

const SEGMENT = { load: 1, dynamic: 2, interpreter: 3 } as const;
const TAG = { end: 0, strings: 5, rpath: 15, runpath: 29 } as const;
const HEADER_BYTES = 64;
const SEGMENT_BYTES = 56;
const DYNAMIC_BYTES = 16;
/** The kernel refuses longer interpreter paths, their final zero included. */
const MOST_PATH_BYTES = 4096;
const ORIGIN = Buffer.from('$ORIGIN\0', 'latin1');

/** One program header: where it stands in the file, and what it says. */
type Segment = {
  readonly at: number;
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly bytes: number;
};

export function isElf(file: Buffer): boolean {
  return file.length >= 4 && file.readUInt32BE(0) === 0x7f454c46;
}

/**
 * The same executable, started through another loader. The path goes to the end of the file, where there is room for it;
 * the kernel reads it from there by its offset.
 */
export function withInterpreter(file: Buffer, path: string): Buffer {
  const segment = readSegments(file).find(({ type }) => type === SEGMENT.interpreter);
  if (segment === undefined) throw new ElfError('it names no loader, so it is not a dynamic executable');
  const text = Buffer.from(`${path}\0`);
  if (text.length > MOST_PATH_BYTES) throw new ElfError(`the loader's path is longer than ${MOST_PATH_BYTES} bytes`);
  const patched = Buffer.concat([file, text]);
  patched.writeBigUInt64LE(BigInt(file.length), segment.at + 8);
  patched.writeBigUInt64LE(BigInt(text.length), segment.at + 32);
  patched.writeBigUInt64LE(BigInt(text.length), segment.at + 40);
  return patched;
}

/**
 * The same executable or library, which looks for libraries in its own folder first; undefined if it names no library
 * path that could be changed. RUNPATH becomes RPATH, since only that also serves the libraries of its libraries.
 */
export function withOwnFolderAsLibraryPath(file: Buffer): Buffer | undefined {
  const segments = readSegments(file);
  const dynamic = segments.find(({ type }) => type === SEGMENT.dynamic);
  if (dynamic === undefined) return undefined;
  const entries = readDynamic(file, dynamic);
  const paths = entries.filter(({ tag }) => tag === TAG.runpath || tag === TAG.rpath);
  if (paths.length === 0) return undefined;
  const strings = entries.find(({ tag }) => tag === TAG.strings);
  if (strings === undefined) throw new ElfError('it names a library path but has no strings');

  const patched = Buffer.from(file);
  for (const { at, value } of paths) {
    const start = offsetOf(segments, strings.value) + value;
    const end = file.indexOf(0, start);
    if (start >= file.length || end === -1) throw new ElfError('its library path lies outside of the file');
    if (end - start + 1 < ORIGIN.length) throw new ElfError('its library path is too short to be replaced by $ORIGIN');
    // Only the first bytes are overwritten: the linker may have let another string share the tail.
    ORIGIN.copy(patched, start);
    patched.writeBigUInt64LE(BigInt(TAG.rpath), at);
  }
  return patched;
}

function readSegments(file: Buffer): Segment[] {
  if (!isElf(file) || file.length < HEADER_BYTES) throw new ElfError('it is not an ELF file');
  if (file[4] !== 2 || file[5] !== 1) throw new ElfError('it is not a 64-bit little-endian ELF file');
  const start = readNumber(file, 32);
  const size = file.readUInt16LE(54);
  const count = file.readUInt16LE(56);
  if (size < SEGMENT_BYTES || start + count * size > file.length)
    throw new ElfError('its program headers lie outside of the file');
  return Array.from({ length: count }, (_, i) => {
    const at = start + i * size;
    return {
      at,
      type: file.readUInt32LE(at),
      offset: readNumber(file, at + 8),
      address: readNumber(file, at + 16),
      bytes: readNumber(file, at + 32),
    };
  });
}

function readDynamic(file: Buffer, { offset, bytes }: Segment): { at: number; tag: number; value: number }[] {
  if (offset + bytes > file.length) throw new ElfError('its dynamic section lies outside of the file');
  const entries = Array.from({ length: Math.floor(bytes / DYNAMIC_BYTES) }, (_, i) => {
    const at = offset + i * DYNAMIC_BYTES;
    return { at, tag: readNumber(file, at), value: readNumber(file, at + 8) };
  });
  const end = entries.findIndex(({ tag }) => tag === TAG.end);
  return end === -1 ? entries : entries.slice(0, end);
}

/** Where in the file the byte at this address of the running program is. */
function offsetOf(segments: readonly Segment[], address: number): number {
  const home = segments.find(
    (segment) =>
      segment.type === SEGMENT.load && address >= segment.address && address < segment.address + segment.bytes,
  );
  if (home === undefined) throw new ElfError('its strings lie outside of its segments');
  return address - home.address + home.offset;
}

/** Numbers past 2^53 lose their last digits, which is fine: whatever they point at is out of bounds. */
const readNumber = (file: Buffer, at: number): number => Number(file.readBigUInt64LE(at));
