import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'vitest';
import { perform } from './perform.ts';

const HERE = new URL('.', import.meta.url);
/** `UPDATE=1` writes down what really happens. Commit a changed transcript only when you know why it changed. */
const update = process.env['UPDATE'] === '1';

for (const name of readdirSync(HERE).filter((file) => file.endsWith('.txt'))) {
  const title = name.slice(0, -'.txt'.length).replaceAll('-', ' ');
  test(`scenario: ${title}`, ({ expect }) => {
    const file = new URL(name, HERE);
    const text = readFileSync(file, 'utf8');
    const played = perform(text);
    if (update) writeFileSync(file, played);
    else expect(played).toBe(text);
  });
}
