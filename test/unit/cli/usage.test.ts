import { readFileSync } from 'node:fs';
import { describe, test, vi } from 'vitest';
import { type } from './terminal.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

const served = vi.hoisted((): { options: unknown[]; result: () => number } => ({ options: [], result: () => 0 }));

vi.mock('../../../src/app/serve.ts', () => ({
  serve: async (options: unknown) => {
    served.options.push(options);
    return served.result();
  },
}));

describe('a command line nobody can understand ends with 2 and says what to change', () => {
  test.for<[string, string]>([
    ['--prot 3', 'There is no option --prot here. Did you mean --port?'],
    ['--confg a.json', 'There is no option --confg here. Did you mean --config?'],
    ['-x', 'There is no option -x here.'],
    ['--verbos --prot=3', 'There is no option --verbos here. Did you mean --verbose?'],
    ['--no-verbose', 'There is no option --no-verbose here. Did you mean --verbose?'],
    ['stauts', 'There is no command "stauts". Did you mean status?'],
    ['frobnicate', 'There is no command "frobnicate".'],
    ['config chekc', 'There is no command "config chekc". Did you mean config check?'],
    ['config check more', '"more" is a word too many.'],
    ['status status', '"status" is a word too many.'],
    ['-- more', 'Nothing is known of "more".'],
    ['config', 'catnap config needs to know what for: `check`, `schema` or `import`.'],
    ['status -p 3000', 'There is no option -p here.'],
    ['--json', '--json means nothing here without --validate.'],
    ['--levels 1,2', '--levels means nothing here without --validate.'],
    ['--validate', '--validate needs a value.'],
    ['--validate a --levels 1,six', '--levels knows 1, 2, 3, hybrid, 4, 4full, 5, 3f and 4f, and not "six".'],
    ['--validate a --cycles 0', '--cycles must be a number from 1 to 100, not "0".'],
    ['--config', '--config needs a value.'],
    ['-p', '-p needs a value.'],
    ['-p 3000 -p 3001', '--port is given more than once.'],
    ['-p http', '--port must be a number from 0 to 65535, not "http".'],
    ['-p 65536', '--port must be a number from 0 to 65535, not "65536".'],
    ['-p -1', '--port must be a number from 0 to 65535, not "-1".'],
    ['status --url a --url b', '--url is given more than once.'],
    ['status --url ftp://here', 'catnap: "ftp://here" is no address. Write --url http://127.0.0.1:3000.'],
  ])('%s', async ([line, told], { expect }) => {
    const { code, out, err } = await type(line.split(' '));
    expect(err.split('\n')).toContain(told);
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(served.options).toEqual([]);
  });
});

describe('what is asked about catnap itself', () => {
  test('its version', async ({ expect }) => {
    expect(await type(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  test.for(['--help', '-h', 'status --help', 'config --help', 'config check --help'])(
    '%s',
    async (line, { expect }) => {
      const { code, out, err } = await type(line.split(' '));
      expect([code, err]).toEqual([0, '']);
      expect(out).toContain('--config');
      expect(out.includes('Exit codes: 0 all is well')).toBe(line.startsWith('-'));
    },
  );
});

describe('serving', () => {
  test.for<[string, object]>([
    ['', { config: [], port: undefined, verbose: false }],
    ['serve', { config: [], port: undefined, verbose: false }],
    ['--config a.json -v --config b.yaml -p 0', { config: ['a.json', 'b.yaml'], port: 0, verbose: true }],
    ['serve --port=3001 --verbose', { config: [], port: 3001, verbose: true }],
  ])('"%s" passes on what was asked for', async ([line, options], { expect }) => {
    served.options.length = 0;
    served.result = () => 0;
    expect((await type(line === '' ? [] : line.split(' '))).code).toBe(0);
    expect(served.options).toEqual([{ ...options, version }]);
  });

  test('ends with the code that serving ended with', async ({ expect }) => {
    served.result = () => 2;
    expect((await type([])).code).toBe(2);
  });

  test('a bug ends with 70 and says that it is one', async ({ expect }) => {
    served.result = () => {
      throw new Error('invariant: two casts on one stage');
    };
    const { code, err } = await type([]);
    expect(code).toBe(70);
    expect(err).toContain('This is a bug in catnap.');
    expect(err).toContain('invariant: two casts on one stage');
  });
});
