import { test } from 'vitest';
import { halfBits } from '../../../../src/quickstart/gguf/half.ts';

test.for([
  [0, 0x0000],
  [1, 0x3c00],
  [2, 0x4000],
  [-2, 0xc000],
  [0.5, 0x3800],
  [1 / 3, 0x3555],
  [65_504, 0x7bff],
  // Rounds up into the next power of two.
  [2047.9, 0x6800],
  [1e6, 0x7c00],
  [-1e6, 0xfc00],
  [65_520, 0x7c00],
  [2 ** -14, 0x0400],
  [2 ** -15, 0x0000],
] as const)('%d is stored as the nearest half', ([value, bits], { expect }) => {
  expect(halfBits(value)).toBe(bits);
});
