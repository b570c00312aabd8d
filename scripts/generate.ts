import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { GENERATED } from './pages/index.ts';

/** Writes the files that are rendered from the code. With `--check` it only names those that are stale, and exits 1 if any is. */

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });

const root = new URL('../', import.meta.url);

for (const [path, render] of Object.entries(GENERATED)) {
  const file = fileURLToPath(new URL(path, root));
  const content = render();
  if (existsSync(file) && readFileSync(file, 'utf8') === content) continue;
  if (values.check) {
    console.error(`${path} is stale: run "npm run generate"`);
    process.exitCode = 1;
  } else {
    writeFileSync(file, content);
    console.log(`${path} written`);
  }
}
