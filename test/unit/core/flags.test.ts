import { test } from 'vitest';
import { valueOf } from '../../../src/core/flags.ts';

test('the last value of a flag counts, in both spellings', ({ expect }) => {
  expect(valueOf(['--alias', 'a', '-a', 'b', '--x'], ['--alias', '-a'])).toBe('b');
  expect(valueOf(['--alias=a', '--aliased=c'], ['--alias'])).toBe('a');
  expect(valueOf(['--alias'], ['--alias'])).toBeUndefined();
  expect(valueOf(['-tp=2'], ['--tensor-parallel-size', '-tp'])).toBe('2');
});
