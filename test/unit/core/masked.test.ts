import { describe, test } from 'vitest';
import { masked, maskedWords } from '../../../src/core/masked.ts';

const S = 'hunter2';

describe('no spelling of a secret is shown', () => {
  test.for<readonly [...string[]]>([
    ['--api-key', S],
    ['--api_key', S],
    ['--API_KEY', S],
    [`--api_key=${S}`],
    [`--api-key=${S} and ${S}`],
    ['-hft', S],
    ['--hf-token', S],
    [`--hf_token=${S}`],
    ['--spec_password', S],
    ['--header', `Authorization: Bearer ${S}`],
    ['-H', `X-Our-Own: ${S}`],
    [`--header=X-Our-Own: ${S}`],
    ['-u', `me:${S}`],
    [`Authorization: Basic ${S}`],
    [`API_KEY=${S}`],
    [`--model-loader-extra-config={"hf_token": "${S}", "x": 1}`],
    [`https://example.org/x?token=${S}`],
    [`https://example.org/x?a=${S}&b=${S}#c`],
    [`https://example.org/x?${S}`],
    [`https://me:${S}@example.org/x`],
    [`https://${S}@example.org/x`],
    [
      'sh',
      '-c',
      `srv --api-key ${S} --hf_token '${S}' -hft ${S}; curl -H "Authorization: Bearer ${S}" http://a/?k=${S}`,
    ],
  ])('%j', (words, { expect }) => {
    expect(maskedWords(['srv', ...words, 'end']).join(' ')).not.toContain(S);
    expect(maskedWords(['srv', ...words, 'end']).at(-1)).toBe('end');
    expect(JSON.stringify(masked({ deep: [{ command: words }] }))).not.toContain(S);
  });
});

test('what is no secret stays as it is', ({ expect }) => {
  const words = [
    'srv',
    '--max-tokens',
    '7',
    '--tokenizer=org/m',
    '-H',
    '0.0.0.0',
    '-u',
    'x',
    'http://a:1/b',
    '{"k": 1}',
  ];
  expect(maskedWords(words)).toEqual(words);
  const value = { port: 1, on: true, none: null, list: [1, ['a', { b: 'c' }]], tokens: 'many' };
  expect(masked(value)).toEqual(value);
});

test('a secret is known by the name of its key, and what shows itself is left to', ({ expect }) => {
  const own = new Date(0);
  expect(masked({ api_key: S, hooks: { before: { url: 'http://a/?k=v', apiToken: [S] } }, own })).toEqual({
    api_key: '***',
    hooks: { before: { url: 'http://a/?k=***', apiToken: ['***'] } },
    own,
  });
});

test('a long word takes no time worth telling', ({ expect }) => {
  const word = 'a'.repeat(200_000);
  expect(maskedWords([word])).toEqual([word]);
});
