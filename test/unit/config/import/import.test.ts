import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'vitest';
import { importConfig, type Imported } from '../../../../src/config/import/index.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import { folderWith } from '../../../helpers/config.ts';
import { type } from '../../cli/terminal.ts';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/import/', import.meta.url));
const ENV = { HOME: '/home/somebody' };
const update = process.env['UPDATE'] === '1';

function taken(imported: Imported): Extract<Imported, { kind: 'imported' }> {
  if (imported.kind === 'imported') return imported;
  throw new Error(JSON.stringify(imported.problems));
}

describe('a config of another program', () => {
  for (const name of ['llama-swap.yaml', 'llmux.json']) {
    test(`${name} becomes ours, with what could not be carried over`, ({ expect }) => {
      const { text, notes, problems } = taken(importConfig(join(FIXTURES, name), ENV));
      const golden = join(FIXTURES, `${name}.golden`);
      const seen = `${text}\n# Not carried over:\n${notes.map((note) => `# - ${note}\n`).join('')}`;
      if (update) writeFileSync(golden, seen);
      else expect(seen).toBe(readFileSync(golden, 'utf8'));
      expect(problems).toEqual([]);
      using folder = folderWith({ 'config.yaml': text });
      const env = { ...ENV, SWAP_KEY: 'sk-0123456789abcdef', OPENROUTER_API_KEY: 'sk-or' };
      expect(loadConfig([folder.file('config.yaml')], {}, env)).toMatchObject({ kind: 'loaded' });
    });
  }

  const groups = (written: string): Imported => {
    const models = ['a', 'b', 'c', 'd'].map((name) => `  ${name}: { cmd: "x ${name} \${PORT}" }`).join('\n');
    using folder = folderWith({ 'swap.yaml': `models:\n${models}\ngroups:\n${written}` });
    return importConfig(folder.file('swap.yaml'), ENV);
  };
  const linesOf = (imported: Imported, pattern: RegExp): string[] =>
    taken(imported)
      .text.split('\n')
      .filter((line) => pattern.test(line))
      .map((line) => line.trim());

  test('of which all models put each other away needs no stages', ({ expect }) => {
    const imported = groups('  g: { members: [a, b] }');
    expect(linesOf(imported, /stage|slots|keep|exclusive/)).toEqual([]);
  });

  test('with models that run together and put all others away has slots for them', ({ expect }) => {
    const imported = groups('  g: { swap: false, members: [a, b] }');
    expect(linesOf(imported, /slots|exclusive/)).toEqual(['slots: 2', 'exclusive: true', 'exclusive: true']);
  });

  test('with two such groups says which one it could not carry over', ({ expect }) => {
    const imported = groups('  g: { swap: false, members: [a, b] }\n  h: { swap: false, members: [c, d] }');
    expect(taken(imported).notes.join('\n')).toMatch(/groups.h.swap is not carried over/);
  });

  test('that cannot be read says where', ({ expect }) => {
    using folder = folderWith({ 'swap.yaml': 'models: [' });
    expect(importConfig(folder.file('swap.yaml'), ENV).kind).toBe('bad');
  });
});

describe('catnap config import', () => {
  test('writes to the terminal, and what was lost to the other side', async ({ expect }) => {
    const { code, out, err } = await type(['config', 'import', join(FIXTURES, 'llmux.json')]);
    expect(code).toBe(0);
    expect(out).toContain('model_path: Qwen/Qwen3-14B');
    expect(err).toContain('- checkpoint.object_store was left out');
  });

  test('writes over no file unless it is told to', async ({ expect }) => {
    using folder = folderWith({ 'config.yaml': 'mine' });
    const file = folder.file('config.yaml');
    const args = ['config', 'import', join(FIXTURES, 'llmux.json'), '--out', file];
    const refused = await type(args);
    expect([refused.code, readFileSync(file, 'utf8')]).toEqual([2, 'mine']);
    expect(refused.err).toContain('is there already: `--force` writes over it');
    expect((await type([...args, '--force'])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('Qwen/Qwen3-14B');
    expect(
      (await type(['config', 'import', join(FIXTURES, 'llmux.json'), '--out', folder.file('new.yaml')])).code,
    ).toBe(0);
    expect(existsSync(folder.file('new.yaml'))).toBe(true);
  });

  test('says when there is no such file', async ({ expect }) => {
    expect((await type(['config', 'import', '/nowhere/swap.yaml'])).code).toBe(2);
  });
});
