import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { z } from 'zod';
import { filesUnder, ROOT } from './source-files.ts';

const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(text('package.json')));
/** The commands that a person copies: lines of code blocks, and words in backquotes. */
const commandsIn = (markdown: string): string[] =>
  [...markdown.matchAll(/^(?:\$ )?(npm [^\n#]+)|`(npm [^`\n]+)`/gm)].map((match) =>
    (match[1] ?? match[2] ?? '').trim(),
  );

test('README gives the two commands, and both exist', ({ expect }) => {
  const commands = commandsIn(text('README.md'));
  expect(commands).toContain('npm start');
  expect(commands).toContain('npm test');
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['start', 'test']));
});

test('every npm script that the documents name exists', ({ expect }) => {
  const documents = [
    ...filesUnder('docs').filter(({ path }) => path.endsWith('.md')),
    { path: 'README.md', text: text('README.md') },
  ];
  const missing = documents.flatMap(({ path, text }) =>
    commandsIn(text)
      .map((command) => /^npm (?:run ([\w:-]+)|(start|test)\b)/.exec(command))
      .map((match) => match?.[1] ?? match?.[2])
      .filter((name) => name !== undefined && scripts[name] === undefined)
      .map((name) => `${path}: npm run ${name}`),
  );
  expect(missing).toEqual([]);
});

test('CI tests with the very command of the README', ({ expect }) => {
  expect(text('.ci/run')).toMatch(/^suite tests \d+ npm test$/m);
});
