import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'vitest';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');

test('the extension of the workers of vLLM parts and joins them, on stand-ins of torch and vLLM', async ({
  expect,
  skip,
}) => {
  const env = { ...process.env, PYTHONPATH: join(ROOT, 'python'), PYTHONDONTWRITEBYTECODE: '1' };
  const python = await run('python3', ['-c', 'import sys; print(sys.version_info >= (3, 9))'], { env }).catch(
    () => undefined,
  );
  if (python?.stdout.trim() !== 'True') skip('there is no python3 of 3.9 or later');
  const { stderr } = await run('python3', [join(ROOT, 'test/python/catnap_vllm_test.py')], { env, timeout: 60_000 });
  expect(stderr).toMatch(/Ran [1-9]\d* tests in .*\n\nOK/);
});
