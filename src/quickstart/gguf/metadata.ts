/** The typed values of a GGUF header, as far as our models need them. */
type MetadataValue =
  | { readonly type: 'u32'; readonly value: number }
  | { readonly type: 'f32'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly type: 'i32s'; readonly value: readonly number[] };

export type Metadata = readonly (readonly [key: string, value: MetadataValue])[];

/** Numbers that the format gives to its types. */
const CODE = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;

export function encodeMetadata(metadata: Metadata): Buffer {
  return Buffer.concat(metadata.flatMap(([key, value]) => [encodeString(key), encodeValue(value)]));
}

function encodeValue(value: MetadataValue): Buffer {
  switch (value.type) {
    case 'u32':
      return Buffer.concat([encodeU32(CODE.u32), encodeU32(value.value)]);
    case 'f32':
      return Buffer.concat([encodeU32(CODE.f32), encodeF32(value.value)]);
    case 'bool':
      return Buffer.concat([encodeU32(CODE.bool), Buffer.from([value.value ? 1 : 0])]);
    case 'string':
      return Buffer.concat([encodeU32(CODE.string), encodeString(value.value)]);
    case 'strings':
      return encodeArray(CODE.string, value.value.map(encodeString));
    case 'i32s':
      return encodeArray(CODE.i32, value.value.map(encodeI32));
  }
}

function encodeArray(code: number, items: readonly Buffer[]): Buffer {
  return Buffer.concat([encodeU32(CODE.array), encodeU32(code), encodeU64(items.length), ...items]);
}

export function encodeString(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([encodeU64(bytes.length), bytes]);
}

export function encodeU32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

export function encodeU64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function encodeI32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function encodeF32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}
