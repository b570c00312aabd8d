// `npm run check [name ...]`: what must hold before a commit, one after the other; output is shown of what fails.
import { appendFileSync } from 'node:fs';
import { execa } from 'execa';

type Check = { readonly name: string; readonly tool: readonly [string, ...string[]]; readonly countsItself?: true };

const CHECKS: readonly Check[] = [
  { name: 'types', tool: ['node_modules/.bin/tsc', '--noEmit'] },
  { name: 'lint', tool: ['node_modules/.bin/oxlint'] },
  { name: 'format', tool: ['node_modules/.bin/oxfmt', '--check'] },
  { name: 'unused', tool: ['node_modules/.bin/knip'] },
  { name: 'generated', tool: ['scripts/generate.ts', '--check'] },
  {
    name: 'tests',
    tool: ['node_modules/.bin/vitest', 'run', '--project', 'unit', '--project', 'sim'],
    countsItself: true,
  },
];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !CHECKS.some((check) => check.name === name));
if (unknown.length > 0) {
  console.error(`no such check: ${unknown.join(', ')}; there are ${CHECKS.map((check) => check.name).join(', ')}`);
  process.exitCode = 2;
} else {
  for (const check of CHECKS) {
    if ((asked.length === 0 || asked.includes(check.name)) && !(await passes(check))) process.exitCode = 1;
  }
}

async function passes({ name, tool, countsItself }: Check): Promise<boolean> {
  const started = performance.now();
  const { failed, all } = await execa(process.execPath, tool, {
    all: true,
    reject: false,
    stdin: 'ignore',
    timeout: 300_000,
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${name.padEnd(10)} ${failed ? 'FAILED' : 'ok'} ${seconds} s`);
  if (failed) console.log(all);
  const tally = process.env['CATNAP_TALLY_FILE'];
  if (tally !== undefined && !countsItself)
    appendFileSync(tally, failed ? `0 1 0\n# the check of ${name}\n` : '1 0 0\n');
  return !failed;
}
