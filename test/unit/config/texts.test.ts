import fc from 'fast-check';
import { describe, test } from 'vitest';
import { readJson } from '../../../src/config/json-text.ts';
import { readYaml } from '../../../src/config/yaml-text.ts';

describe('JSON', () => {
  test('means what JSON.parse takes it for', ({ expect }) => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        if (text.includes('"__proto__"')) return;
        expect(readJson(text)).toMatchObject({ value: JSON.parse(text), faults: [] });
      }),
    );
  });

  test('whatever JSON.parse refuses is refused, with a place inside the text', ({ expect }) => {
    const unit = fc.constantFrom('{', '}', '[', ']', ',', ':', '"', 'a', '1', '-', '.', ' ', '\n');
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        if (parses(text)) return;
        const [fault] = readJson(text).faults;
        expect(fault).toBeDefined();
        expect(fault?.place.line).toBeLessThanOrEqual(text.split('\n').length);
        expect(fault?.message).not.toBe('');
      }),
    );
  });

  test.for<[string, string, number, number]>([
    ['{\n  "port": 3000,\n}', 'a key in double quotes is expected', 3, 1],
    ['{\n  "port": 3000\n  "host": "x"\n}', 'a comma is expected', 3, 3],
    ['{\n  // the port\n  "port": 3000\n}', 'JSON has no comments', 2, 3],
    ["{ 'port': 3000 }", 'there is something here that JSON does not know', 1, 3],
    ['{ "port": }', 'a value is expected', 1, 11],
    ['{ "port": 3000', 'a closing } is expected', 1, 15],
    ['{ "host": "x\n" }', 'a text is not closed on its line', 1, 11],
    ['{} {}', 'the config has ended and something follows', 1, 4],
    ['', 'a value is expected', 1, 1],
    ['{\n "a": 1,\n "a": 2 }', 'the key "a" is here twice', 3, 2],
    ['{ "models": { "__proto__": {} } }', 'the key "__proto__" is not allowed', 1, 15],
  ])('%j: %s', ([text, message, line, column], { expect }) => {
    expect(readJson(text).faults).toMatchObject([{ message, place: { line, column } }]);
  });

  test('remembers where every key and list entry stands', ({ expect }) => {
    const { places } = readJson('{\n  "models": {\n    "a/b": { "aliases": ["x",\n      "y"] } } }');
    expect(places.get('models')).toEqual({ line: 2, column: 3 });
    expect(places.get('models["a/b"]')).toEqual({ line: 3, column: 5 });
    expect(places.get('models["a/b"].aliases[1]')).toEqual({ line: 4, column: 7 });
  });
});

describe('YAML', () => {
  test('remembers where every key and list entry stands', ({ expect }) => {
    const { value, places } = readYaml('# a config\nmodels:\n  alpha:\n    aliases:\n      - x\n      - y\n');
    expect(value).toEqual({ models: { alpha: { aliases: ['x', 'y'] } } });
    expect(places.get('models.alpha')).toEqual({ line: 3, column: 3 });
    expect(places.get('models.alpha.aliases[1]')).toEqual({ line: 6, column: 9 });
  });

  test.for<[string, RegExp, number]>([
    ['port: 3000\nport: 3001\n', /unique/, 2],
    ['models:\n\talpha: {}\n', /tabs/i, 2],
    ['models: {\n', /flow map/i, 2],
    ['a: 1\n---\nb: 2\n', /multiple documents/i, 2],
    ['a: !secret x\n', /unresolved tag/i, 1],
    ['models:\n  __proto__: {}\n', /not allowed/, 2],
  ])('%j', ([text, message, line], { expect }) => {
    const [fault] = readYaml(text).faults;
    expect(fault?.message).toMatch(message);
    expect(fault?.place.line).toBe(line);
  });

  test('aliases that multiply a file beyond measure are refused', ({ expect }) => {
    const levels = Array.from({ length: 12 }, (_, n) => `l${n + 1}: &l${n + 1} [${`*l${n}, `.repeat(10)}]`);
    const { faults } = readYaml(`l0: &l0 [x]\n${levels.join('\n')}\n`);
    expect(faults).toMatchObject([{ message: expect.stringMatching(/alias/i) }]);
  });
});

test.for([
  ['JSON', readJson],
  ['YAML', readYaml],
] as const)('%s that is nested out of all measure is a fault, not a crash', ([, read], { expect }) => {
  const { faults } = read('['.repeat(20_000) + ']'.repeat(20_000));
  expect(faults).toMatchObject([{ message: 'is nested too deeply' }]);
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
