import fc from 'fast-check';
import { describe, test } from 'vitest';
import { bodyOf, split } from '../../helpers/body-of.ts';
import { loosely, truth } from '../../helpers/loose-json.ts';
import { EditedBody } from '../../../src/proxy/edited.ts';
import { ModelScanner } from '../../../src/proxy/model-scan.ts';
import type { Scan } from '../../../src/proxy/name-scanner.ts';

/** Feeds a text cut at the given places. */
function scan(text: string | Buffer, cuts: readonly number[] = []): Scan {
  const scanner = new ModelScanner();
  for (const piece of split(Buffer.from(text), cuts)) scanner.feed(piece);
  return scanner.end();
}

const nameIn = (found: Scan): string | undefined => (found.kind === 'found' ? found.name : undefined);
const verdict = (found: Scan): string => (found.kind === 'unreadable' ? found.problem.code : found.kind);

describe('finds the top-level model', () => {
  const cases: [what: string, text: string, name: string][] = [
    ['at the beginning', '{"model":"a","messages":[]}', 'a'],
    ['at the end', '{"messages":[{"role":"user"}],"model":"a"}', 'a'],
    ['alone, with space everywhere', ' \r\n\t{ "model" \n:\t "a" \n} \n', 'a'],
    ['and no nested one', '{"x":{"model":"no"},"y":[{"model":"no"}],"model":"a"}', 'a'],
    ['and not what only looks like it', '{"x":"\\"model\\":\\"no\\"","model":"a"}', 'a'],
    ['and no key like it', '{"models":"no","amodel":"no","mode":"no","Model":"no","model":"a"}', 'a'],
    ['with an escaped key', '{"\\u006d\\u006f\\u0064\\u0065\\u006c":"a"}', 'a'],
    ['with an escaped value', '{"model":"a\\/b\\u0020\\"c\\""}', 'a/b "c"'],
    ['beyond ASCII', '{"ключ":"да","model":"модель-😀"}', 'модель-😀'],
    ['after strings that end in backslashes', '{"x":"\\\\","y":"\\\\\\"","model":"a"}', 'a'],
    ['after numbers and words', '{"n":-1.5e3,"t":true,"f":false,"z":null,"model":"a"}', 'a'],
    ['twice, with one value', '{"model":"a","model":"\\u0061"}', 'a'],
    ['after an empty key and a very long one', `{"":"","${'k'.repeat(5_000)}":1,"model":"a"}`, 'a'],
    ['behind a byte order mark', '\uFEFF{"model":"a"}', 'a'],
    ['empty', '{"model":""}', ''],
  ];
  test.for(cases)('%s, wherever the body is cut', ([, text, name], { expect }) => {
    const length = Buffer.byteLength(text);
    expect(nameIn(scan(text))).toBe(name);
    for (let cut = 0; cut <= length && cut < 300; cut++) expect(nameIn(scan(text, [cut])), `cut at ${cut}`).toBe(name);
    expect(
      nameIn(
        scan(
          text,
          Array.from({ length }, (_, i) => i),
        ),
      ),
    ).toBe(name);
  });

  test('behind 10 MB of base64', ({ expect }) => {
    const body = Buffer.from(`{"messages":["${'A'.repeat(10_000_000)}"],"model":"a"}`);
    expect(nameIn(scan(body, [1, 65_536, 9_999_999]))).toBe('a');
  });

  test('and tells it as soon as it was read', ({ expect }) => {
    const scanner = new ModelScanner();
    scanner.feed(Buffer.from('{"model":"a"'));
    expect(scanner.name).toBe('a');
  });
});

describe('says what is wrong', () => {
  const cases: [text: string, code: string][] = [
    ['', 'missing'],
    ['{}', 'missing'],
    ['{"x":{"model":"a"}}', 'missing'],
    ['   ', 'invalid_request'],
    ['[{"model":"a"}]', 'invalid_request'],
    ['"model"', 'invalid_request'],
    ['model=a', 'invalid_request'],
    ['{"model":"a"', 'invalid_request'],
    ['{"model":"a"}}', 'invalid_request'],
    ['{"model":"a"}{"model":"b"}', 'invalid_request'],
    ['{"model":5}', 'invalid_request'],
    ['{"model":null}', 'invalid_request'],
    ['{"model":{"id":"a"}}', 'invalid_request'],
    ['{"model" "a"}', 'invalid_request'],
    ['{"model":"a",}', 'invalid_request'],
    ['{,"model":"a"}', 'invalid_request'],
    ['{"x":,"model":"a"}', 'invalid_request'],
    ['{model:"a"}', 'invalid_request'],
    ['{"model":"\\x"}', 'invalid_request'],
    ['{"x":"unended}', 'invalid_request'],
    [`{"model":"${'a'.repeat(5_000)}"}`, 'invalid_request'],
    [`{"x":${'['.repeat(2_000)}`, 'invalid_request'],
    ['{"model":"a","model":"b"}', 'duplicate_model'],
    ['{"model":"a","x":1,"\\u006dodel":"b"}', 'duplicate_model'],
    [`{${Array(40).fill('"model":"a"').join(',')}}`, 'duplicate_model'],
  ];
  test.for(cases)('%s', ([text, code], { expect }) => {
    expect(verdict(scan(text))).toBe(code);
    expect(verdict(scan(text, [1, 2, 3, 5, 8, 13]))).toBe(code);
  });
});

const cuts = fc.array(fc.nat(500), { maxLength: 6 });

test('agrees with JSON.parse on every valid body, wherever it is cut', ({ expect }) => {
  fc.assert(
    fc.property(loosely, cuts, (written, at) => {
      const found = scan(written.text, at);
      expect(found.kind === 'found' ? `found ${found.name}` : verdict(found)).toBe(truth(written));
    }),
    { numRuns: 3_000 },
  );
});

test('gives the same verdict however the body is cut', ({ expect }) => {
  const scribble = fc.string({ unit: fc.constantFrom(...'{}[]":,\\ model1"a'.split('')) });
  const anything = fc.oneof(
    loosely.map(({ text }) => text),
    scribble,
  );
  fc.assert(
    fc.property(anything, cuts, (text, at) => {
      expect(scan(text, at)).toEqual(scan(text));
    }),
    { numRuns: 3_000 },
  );
});

test('a new name takes the place of the old one, and no other byte changes', ({ expect }) => {
  fc.assert(
    fc.property(loosely, cuts, fc.string({ unit: 'grapheme' }), ({ text }, at, name) => {
      const found = scan(text, at);
      if (found.kind !== 'found') return;
      const body = Buffer.from(text);
      const edits = found.at.map((place) => ({ ...place, text: JSON.stringify(name) }));
      const renamed = new EditedBody(bodyOf(split(body, at)), edits);
      const expected: Buffer[] = [];
      let from = 0;
      for (const range of found.at) {
        expect(JSON.parse(body.toString('utf8', range.from, range.to))).toBe(found.name);
        expected.push(body.subarray(from, range.from), Buffer.from(JSON.stringify(name)));
        from = range.to;
      }
      expected.push(body.subarray(from));
      expect(Buffer.concat(renamed.chunks ?? []).toString()).toBe(Buffer.concat(expected).toString());
      expect(renamed.bytes).toBe(Buffer.concat(expected).length);
      expect(nameIn(scan(Buffer.concat(renamed.chunks ?? [])))).toBe(name);
    }),
    { numRuns: 1_000 },
  );
});

test('says whether the top-level `stream` is true, however the body is cut', ({ expect }) => {
  const cases: [body: string, stream: boolean | undefined][] = [
    ['{"model":"a","stream":true}', true],
    ['{"stream" : true ,"model":"a"}', true],
    ['{"str\\u0065am":true,"model":"a"}', true],
    ['{"stream":false,"model":"a"}', false],
    ['{"stream":null,"model":"a"}', false],
    ['{"stream":"true","model":"a"}', false],
    ['{"stream":true,"model":"a","stream":false}', false],
    ['{"x":{"stream":true},"model":"a"}', undefined],
    ['{"streams":true,"model":"a","y":"stream"}', undefined],
  ];
  for (const [body, stream] of cases) {
    for (let cut = 0; cut <= body.length; cut++) {
      const scanner = new ModelScanner();
      scanner.feed(Buffer.from(body.slice(0, cut)));
      scanner.feed(Buffer.from(body.slice(cut)));
      expect([body, scanner.stream]).toEqual([body, stream]);
    }
  }
});
