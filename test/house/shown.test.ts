import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { LEVELS } from '../../src/config/sleep-levels.ts';
import { ROOT } from './source-files.ts';

const page = readFileSync(join(ROOT, 'docs/sleep-levels.md'), 'utf8');
const [, section = ''] = /^## What was shown on what\n(.*?)^## /ms.exec(page) ?? [];

test('for every level of every engine the page says what it was shown on', ({ expect }) => {
  const said = section.split('\n').flatMap((row) => {
    const [, levels = '', engines = ''] = row.split('|').map((cell) => cell.trim());
    // Rows that begin otherwise are of a special way to use a level.
    if (!/^(\d|hybrid)(, (\d|hybrid))*$/.test(levels)) return [];
    const names = [...engines.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    return levels.split(', ').flatMap((level) => names.map((name) => `${name} ${level}`));
  });
  const missing = Object.entries(LEVELS)
    .filter(([backend]) => backend !== 'openai_remote')
    .flatMap(([backend, { works, accepted }]) => [...works, ...accepted].map((level) => `${backend} ${level}`))
    .filter((pair) => !said.includes(pair));
  expect(missing).toEqual([]);
});
