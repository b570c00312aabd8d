import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, test } from 'vitest';
import { GENERATED } from '../../scripts/pages/index.ts';

const root = new URL('../../', import.meta.url);

describe('files that are rendered from the code', () => {
  test.for(Object.entries(GENERATED))('%s is fresh', ([path, render], { expect }) => {
    const file = new URL(path, root);
    expect(existsSync(file), `${path} is missing: run "npm run generate"`).toBe(true);
    expect(readFileSync(file, 'utf8'), `${path} is stale: run "npm run generate"`).toBe(render());
  });

  test('the command that checks them agrees', async ({ expect }) => {
    const script = new URL('scripts/generate.ts', root).pathname;
    const { stderr } = await promisify(execFile)(process.execPath, ['--no-warnings', script, '--check']);
    expect(stderr).toBe('');
  });
});
