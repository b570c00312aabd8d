import { test } from 'vitest';
import { LEVELS } from '../../../src/config/sleep-levels.ts';
import { TRAITS } from '../../../src/engines/registry.ts';

test('the levels that the config calls working are those that the drivers have', ({ expect }) => {
  for (const [backend, { works }] of Object.entries(LEVELS)) {
    const traits = Object.entries(TRAITS).find(([name]) => name === backend)?.[1];
    expect([backend, works.filter((level) => level !== 5)]).toEqual([backend, traits?.naps]);
  }
});

test('only what runs elsewhere needs no room', ({ expect }) => {
  const roomless = Object.entries(TRAITS).filter(([, { needsRoom }]) => !needsRoom);
  expect(roomless.map(([backend]) => backend)).toEqual(['openai_remote']);
});
