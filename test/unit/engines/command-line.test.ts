import { test } from 'vitest';
import { fill, shown } from '../../../src/engines/command-line.ts';

test('known names are filled in wherever they stand, others stay', ({ expect }) => {
  const argv = fill(['srv', '--at=127.0.0.1:${PORT}', '${MODEL}-${PORT}', '${HOME}'], { PORT: 8_001, MODEL: 'a' });
  expect(argv).toEqual(['srv', '--at=127.0.0.1:8001', 'a-8001', '${HOME}']);
});

test('what is filled in is not read again', ({ expect }) => {
  expect(fill(['srv', '${MODEL}'], { MODEL: '${PORT}', PORT: 1 })).toEqual(['srv', '${PORT}']);
});

test('a command line is shown as one would type it', ({ expect }) => {
  expect(shown(['srv', '--say', "it's one", '', 'a:b,c=d/e'])).toBe(String.raw`srv --say 'it'\''s one' '' a:b,c=d/e`);
});

test('keys are masked, however they are given', ({ expect }) => {
  const line = shown(['srv', '--api-key', 'sk-1', '--hf-token=hf_2', '--spec_password', 'pw3', '-n', 'x']);
  expect(line).toBe('srv --api-key *** --hf-token=*** --spec_password *** -n x');
  const other = shown(['srv', '--api_key', 'sk-1', '-hft', 'hf_2', '--header', 'Authorization: Bearer sk-3']);
  expect(other).toBe(`srv --api_key *** -hft *** --header 'Authorization: ***'`);
});
