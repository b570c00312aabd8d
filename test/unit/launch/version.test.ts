import fc from 'fast-check';
import { test } from 'vitest';
import { satisfies } from '../../../scripts/launch/version.mjs';

const OURS = '^22.19.0 || >=24.11.0';

test.for([
  ['v22.19.0', true],
  ['v22.21.4', true],
  ['24.11.0', true],
  ['v25.0.0', true],
  ['v26.10.0', true],
  ['v100.0.0', true],
  ['v27.0.0-nightly20261101abcdef', true],
  ['v22.18.9', false],
  ['v22.9.0', false],
  ['v23.11.1', false],
  ['v24.10.99', false],
  ['v20.20.2', false],
  ['v9.99.99', false],
  ['not a version', false],
] as const)('%s is new enough: %s', ([version, enough], { expect }) => {
  expect(satisfies(version, OURS)).toBe(enough);
});

test('later versions of a line are never too old where earlier ones are not', ({ expect }) => {
  const part = fc.nat(40);
  fc.assert(
    fc.property(
      part,
      part,
      part,
      fc.constantFrom(1, 2),
      fc.integer({ min: 1, max: 9 }),
      (major, minor, patch, which, more) => {
        const later = which === 1 ? `${major}.${minor + more}.0` : `${major}.${minor}.${patch + more}`;
        if (satisfies(`${major}.${minor}.${patch}`, OURS)) expect(satisfies(later, OURS)).toBe(true);
      },
    ),
  );
});

test('a range in another notation is refused, not misread', ({ expect }) => {
  expect(() => satisfies('v24.11.0', '~24.11.0')).toThrow("cannot read '~24.11.0'");
  expect(() => satisfies('v20.0.0', '>=24')).toThrow("cannot read '>=24'");
});
