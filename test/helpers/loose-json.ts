import fc from 'fast-check';

export type Written = { readonly text: string; readonly pairs: readonly (readonly [key: string, value: string])[] };

/** JSON texts that people and libraries write: any values, escapes where they are not needed, space between the tokens. */
export const loosely: fc.Arbitrary<Written> = fc
  .tuple(fc.array(fc.tuple(key(), value()), { maxLength: 8 }), fc.constantFrom('', ' ', '\n\t', '\r\n'))
  .map(([pairs, gap]) => ({
    pairs,
    text: `{${gap}${pairs.map(([k, v]) => `${k}${gap}:${gap}${v}${gap}`).join(`,${gap}`)}}`,
  }));

function key(): fc.Arbitrary<string> {
  const plain = fc.constantFrom('model', 'model', 'mode', 'models', 'x').map((name) => JSON.stringify(name));
  const escaped = fc.constantFrom('"\\u006dodel"', '"mod\\u0065l"', '"\\\\model"', '"model\\""');
  return fc.oneof(
    plain,
    escaped,
    fc.string({ unit: 'grapheme' }).map((name) => JSON.stringify(name)),
  );
}

function value(): fc.Arbitrary<string> {
  const names = fc.constantFrom('"a"', '"b"', '"\\u0061"', '""', '"a\\\\"', '"\\""');
  return fc.oneof({ weight: 3, arbitrary: names }, fc.json({ stringUnit: 'grapheme' }));
}

/** What JSON.parse makes of it, key by key. */
export function truth({ pairs }: Written): string {
  let name: string | undefined;
  for (const [k, v] of pairs) {
    if (JSON.parse(k) !== 'model') continue;
    const found: unknown = JSON.parse(v);
    if (typeof found !== 'string') return 'invalid_request';
    if (name !== undefined && found !== name) return 'duplicate_model';
    name = found;
  }
  return name === undefined ? 'missing' : `found ${name}`;
}
