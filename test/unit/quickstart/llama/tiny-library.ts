const RPATH = 15;
const RUNPATH = 29;
const SEGMENT = { load: 1, interpreter: 3 };
const DYNAMIC_AT = 64 + 2 * 56;
export const STRINGS_AT = DYNAMIC_AT + 3 * 16;
/** Where the file is loaded to, so that addresses and offsets differ. */
const BASE = 0x10_000;

/** The smallest ELF file with a library path: one loaded segment, the dynamic section, and its strings; or a damaged one. */
export function library({
  path,
  kind = 'runpath',
  pathAt = 0,
  stringsAddress = BASE + STRINGS_AT,
  dynamicAt = DYNAMIC_AT,
  segments = 2,
  firstSegment = 'load',
}: {
  readonly path: string;
  readonly kind?: 'runpath' | 'rpath';
  readonly pathAt?: number;
  readonly stringsAddress?: number;
  readonly dynamicAt?: number;
  readonly segments?: number;
  readonly firstSegment?: keyof typeof SEGMENT;
}): Buffer {
  const file = Buffer.alloc(STRINGS_AT + path.length + 1);
  file.write('\x7fELF\x02\x01', 'latin1');
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(segments, 56);
  const segment = (at: number, type: number, offset: number, address: number, bytes: number): void => {
    file.writeUInt32LE(type, at);
    file.writeBigUInt64LE(BigInt(offset), at + 8);
    file.writeBigUInt64LE(BigInt(address), at + 16);
    file.writeBigUInt64LE(BigInt(bytes), at + 32);
  };
  segment(64, SEGMENT[firstSegment], 0, BASE, file.length);
  segment(64 + 56, 2, dynamicAt, BASE + DYNAMIC_AT, 3 * 16);
  const entry = (i: number, tag: number, value: number): void => {
    file.writeBigUInt64LE(BigInt(tag), DYNAMIC_AT + i * 16);
    file.writeBigUInt64LE(BigInt(value), DYNAMIC_AT + i * 16 + 8);
  };
  entry(0, 5, stringsAddress);
  entry(1, kind === 'runpath' ? RUNPATH : RPATH, pathAt);
  file.write(path, STRINGS_AT, 'latin1');
  return file;
}

export function libraryPath(file: Buffer): { readonly kind: string; readonly path: string } {
  const tag = Number(file.readBigUInt64LE(DYNAMIC_AT + 16));
  return {
    kind: tag === RPATH ? 'rpath' : tag === RUNPATH ? 'runpath' : `tag ${tag}`,
    path: stringAt(file, STRINGS_AT),
  };
}

export function stringAt(file: Buffer, at: number): string {
  return file.toString('latin1', at, file.indexOf(0, at));
}
