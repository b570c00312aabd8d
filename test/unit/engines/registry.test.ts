import { test } from 'vitest';
import { TRAITS } from '../../../src/engines/registry.ts';

test('only what runs elsewhere needs no room', ({ expect }) => {
  const roomless = Object.entries(TRAITS).filter(([, { needsRoom }]) => !needsRoom);
  expect(roomless.map(([backend]) => backend)).toEqual(['openai_remote']);
});
