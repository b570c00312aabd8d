import fc from 'fast-check';
import { test } from 'vitest';
import { fitsPattern } from '../../../src/config/wildcard.ts';

test('fits what a regular expression says', ({ expect }) => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 12 });
  fc.assert(
    fc.property(pattern, name, (form, text) => {
      expect(fitsPattern(form, text)).toBe(new RegExp(`^${form.replaceAll('*', '[^]*')}$`).test(text));
    }),
    { numRuns: 5_000 },
  );
});

test('takes no long time over a wild pattern', ({ expect }) => {
  expect(fitsPattern('*a'.repeat(90), `${'a'.repeat(1_000_000)}b`)).toBe(false);
});
