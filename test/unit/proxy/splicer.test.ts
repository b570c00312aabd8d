import fc from 'fast-check';
import { test } from 'vitest';
import { EditedBody } from '../../../src/proxy/edited.ts';
import type { Edit } from '../../../src/proxy/splicer.ts';
import { bodyOf, readOut, split } from '../../helpers/body-of.ts';

/** Edits that do not meet, in their order, for a body of this length. */
const edits = (length: number): fc.Arbitrary<Edit[]> =>
  fc
    .tuple(
      fc.array(fc.nat(length), { maxLength: 10 }),
      fc.array(fc.string({ maxLength: 5 }), { minLength: 5, maxLength: 5 }),
    )
    .map(([places, texts]) => {
      const sorted = places.toSorted((a, b) => a - b);
      return texts.flatMap((text, i): Edit[] => {
        const [from, to] = [sorted[2 * i], sorted[2 * i + 1]];
        return from === undefined || to === undefined ? [] : [{ from, to, text }];
      });
    });

test('edits are made wherever a body is cut, and every other byte stays', async ({ expect }) => {
  const cases = fc
    .string({ maxLength: 40 })
    .map((text) => Buffer.from(text))
    .chain((body) => fc.tuple(fc.constant(body), edits(body.length), fc.array(fc.nat(60), { maxLength: 8 })));
  await fc.assert(
    fc.asyncProperty(cases, async ([body, made, cuts]) => {
      const expected: Buffer[] = [];
      let from = 0;
      for (const edit of made) {
        expected.push(body.subarray(from, edit.from), Buffer.from(edit.text));
        from = edit.to;
      }
      const after = Buffer.concat([...expected, body.subarray(from)]).toString();
      const inMemory = new EditedBody(bodyOf(split(body, cuts)), made);
      const piecemeal = new EditedBody(bodyOf(split(body, cuts), { torn: true }), made);
      expect(Buffer.concat(inMemory.chunks ?? []).toString()).toBe(after);
      expect(piecemeal.chunks).toBe(undefined);
      expect((await readOut(piecemeal)).toString()).toBe(after);
      expect([inMemory.bytes, piecemeal.bytes]).toEqual(Array(2).fill(Buffer.byteLength(after)));
    }),
    { numRuns: 2_000 },
  );
});
