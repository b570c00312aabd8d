import { describe, test } from 'vitest';
import { filesUnder, lineAt, type SourceFile } from './source-files.ts';

type Rule = {
  readonly name: string;
  /** Printed with each offence: what is wrong with it, and what to do. */
  readonly reason: string;
  readonly applies: (path: string) => boolean;
  /** Positions of offences in the text. */
  readonly find: (text: string, path: string) => readonly number[];
};

const LINES_MAX = 400;
const isCode = (path: string): boolean => /\.(ts|mjs|sh)$/.test(path) || path === '.ci/run';
const isTest = (path: string): boolean => path.startsWith('test/');
const any = (): boolean => true;
const matches =
  (pattern: RegExp) =>
  (text: string): readonly number[] =>
    [...text.matchAll(pattern)].map(({ index }) => index);

// The patterns are written so that they do not match themselves.
const RULES: readonly Rule[] = [
  {
    name: 'long file',
    reason: `a file is one idea; over ${LINES_MAX} lines it has become two, so give the second a file next door`,
    applies: isCode,
    find: (text) => (lineAt(text, text.length) > LINES_MAX + 1 ? [text.length - 1] : []),
  },
  {
    name: 'leftover marker',
    reason: 'main holds finished work; do it, or open an issue, and remove the marker',
    applies: any,
    find: matches(/\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b/g),
  },
  {
    name: 'narrowed test run',
    reason: 'a test that is singled out silences all others; take the modifier away',
    applies: isTest,
    find: matches(/\b(test|it|describe)\.onl[y]\b/g),
  },
  {
    name: 'path of one machine',
    reason: 'it exists on one machine only; take the path from the environment, the checkout or a temporary folder',
    applies: any,
    find: matches(/(?<![\w.*$}-])\/(wor[k]|roo[t])\/|\.\.\/share[d]\b|\.librar[y]\b/g),
  },
  {
    name: 'registry host',
    reason: 'people use mirrors; let npm, apt or the container engine choose the host',
    applies: any,
    find: matches(/registr[y]\.npmjs|registr[y]\.yarnpkg|de[b]\.debian\.org|ghc[r]\.io|docke[r]\.io/g),
  },
  {
    name: 'how it came to be',
    reason: 'text describes the product as it is; say what holds and why, not who asked for it',
    applies: any,
    find: matches(/\bthe issu[e] (says|asks|wants)|\bissu[e] #?\d|\bdesig[n]\.md\b|\bstyl[e]\.md\b/gi),
  },
  {
    name: 'silent disable',
    reason: 'a rule is switched off in one place for one reason; write it after --',
    applies: isCode,
    find: matches(/(ox|es)lint-disabl[e](?![^\n]* -- \S)/g),
  },
  {
    name: 'silenced compiler',
    reason: 'the compiler is right more often; narrow the type with a check, or use @ts-expect-error and say why',
    applies: isCode,
    find: matches(/@ts-(ignor[e]|nochec[k])|@ts-expect-erro[r]\s*$/gm),
  },
  {
    name: 'function that keeps its request',
    reason:
      'V8 makes a function that is assigned to a property among its old objects, and what it reaches stays until the next full ' +
      'collection; assign it to a constant first, or keep an object with a method',
    applies: (path) => /^src\/(access|core|observe|proxy|runtime)\//.test(path),
    find: matches(/^\s+\w+(\.#?\w+)+ (\?\?)?= (async )?(\([^=;]*\)(: [^=;]+)?|\w+) =>/gm),
  },
];

const files = filesUnder('src', 'test', 'scripts', 'docs', 'docker', '.ci').concat(
  filesUnder('.').filter(({ path }) => /^[^/]+\.(md|json|ts)$/.test(path) && path !== 'package-lock.json'),
);

for (const rule of RULES) {
  test(`no ${rule.name}`, ({ expect }) => {
    expect(files.flatMap((file) => offences(rule, file)).join('\n')).toBe('');
  });
}

describe('the rules themselves', () => {
  /** Bad text that is not bad in this file. */
  const joined = (...parts: readonly string[]): string => parts.join('');
  const seen = (path: string, text: string): string[] =>
    RULES.filter((rule) => offences(rule, { path, text }).length > 0).map(({ name }) => name);

  test('find what they are about', ({ expect }) => {
    expect(seen('src/a.ts', 'x\n'.repeat(LINES_MAX + 1))).toEqual(['long file']);
    expect(seen('docs/a.md', joined('TO', 'DO later'))).toEqual(['leftover marker']);
    expect(seen('test/unit/a.test.ts', joined('test.on', "ly('x')"))).toEqual(['narrowed test run']);
    expect(seen('src/a.ts', joined("'/ro", "ot/x'"))).toEqual(['path of one machine']);
    expect(seen('docker/Dockerfile', joined('FROM ghc', 'r.io/x'))).toEqual(['registry host']);
    expect(seen('docs/a.md', joined('As iss', 'ue 7 wants'))).toEqual(['how it came to be']);
    expect(seen('src/a.ts', joined('// oxlint-dis', 'able-next-line no-console'))).toEqual(['silent disable']);
    expect(seen('src/a.ts', joined('// @ts-ig', 'nore'))).toEqual(['silenced compiler']);
    for (const text of ['  this.#stop = () => {', '  job.ended = (end: End): void => {', '  a.b ??= async x => x;']) {
      expect(seen('src/proxy/a.ts', text), text).toEqual(['function that keeps its request']);
    }
    expect(
      seen('src/proxy/a.ts', '  const stop = () => {};\n  this.stop = stop;\n  this.n = sum((a) => a.n);'),
    ).toEqual([]);
  });

  test('leave the rest alone, and say where and why', ({ expect }) => {
    expect(
      seen('src/a.ts', joined('// oxlint-dis', "able-next-line no-console -- it is the console\n'a/work/b'\n")),
    ).toEqual([]);
    const [marker] = RULES.filter(({ name }) => name === 'leftover marker');
    const told =
      marker === undefined ? [] : offences(marker, { path: 'docs/a.md', text: joined('one\nFIX', 'ME two') });
    expect(told).toEqual([expect.stringMatching(/^docs\/a\.md:2 leftover marker: main holds finished work/)]);
  });
});

function offences(rule: Rule, { path, text }: SourceFile): string[] {
  if (!rule.applies(path)) return [];
  return rule.find(text, path).map((index) => `${path}:${lineAt(text, index)} ${rule.name}: ${rule.reason}`);
}
