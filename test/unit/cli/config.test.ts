import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { type } from './terminal.ts';

/** A config file that is gone when the test is over. */
function configFile(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'catnap-cli-'));
  const file = join(folder, 'config.json');
  writeFileSync(file, text);
  return { file, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

const GOOD = JSON.stringify({ models: { alpha: { backend: 'stub' }, beta: { backend: 'stub' } } });
const BAD = `{
  "prot": 3000,
  "models": {
    "alpha": { "backend": "stub", "target_inflight": 0 }
  }
}`;

describe('config check', () => {
  test('of a good config ends with 0 and says what is in it', async ({ expect }) => {
    using config = configFile(GOOD);
    expect(await type(['config', 'check', '--config', config.file])).toEqual({
      code: 0,
      out: `${config.file} can be served: 2 models (alpha and beta)\n`,
      err: '',
    });
  });

  test('of a bad one ends with 2 and names every problem with its place', async ({ expect }) => {
    using config = configFile(BAD);
    const { code, out, err } = await type(['config', 'check', '--config', config.file]);
    expect(code).toBe(2);
    expect(out).toBe('');
    const lines = err.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/config\.json:2:\d+: .*prot.*port/);
    expect(lines[1]).toMatch(/config\.json:4:\d+: models\.alpha\.target_inflight/);
    expect(lines[2]).toBe('catnap: the config has 2 problems.');
  });

  test('of a file that is not there ends with 2', async ({ expect }) => {
    const { code, err } = await type(['config', 'check', '--config', '/nowhere/config.json']);
    expect(code).toBe(2);
    expect(err).toContain('/nowhere/config.json');
  });

  test('prints the same for programs', async ({ expect }) => {
    using good = configFile(GOOD);
    using bad = configFile(BAD);
    const fine = await type(['config', 'check', '--json', '--config', good.file]);
    expect(fine.code).toBe(0);
    expect(JSON.parse(fine.out)).toEqual({
      ok: true,
      sources: [good.file],
      models: ['alpha', 'beta'],
      problems: [],
      warnings: [],
    });
    const wrong = await type(['config', 'check', '--json', '--config', bad.file]);
    expect([wrong.code, wrong.err]).toEqual([2, '']);
    expect(JSON.parse(wrong.out)).toMatchObject({
      ok: false,
      problems: [
        { file: bad.file, line: 2 },
        { file: bad.file, line: 4, path: 'models.alpha.target_inflight' },
      ],
    });
  });
});

test('config schema prints a JSON Schema that knows the keys', async ({ expect }) => {
  const { code, out } = await type(['config', 'schema']);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    properties: { models: {}, port: { default: 3000 } },
  });
});
