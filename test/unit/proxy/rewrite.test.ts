import fc from 'fast-check';
import { describe, test } from 'vitest';
import { bodyOf } from '../../helpers/body-of.ts';
import { EditedBody } from '../../../src/proxy/edited.ts';
import { Rewriter, type Rewrite, type Touch } from '../../../src/proxy/rewrite.ts';
import { ask } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, seen, type Seen } from '../../helpers/upstream.ts';

const set = (json: string): Touch => ({ kind: 'set', json });
const strip: Touch = { kind: 'strip' };
const unless = (json: string): Touch => ({ kind: 'default', json });

function split(body: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (body.length + 1)).toSorted((a, b) => a - b), body.length];
  return places.slice(1).map((to, i) => body.subarray(places[i], to));
}

function rewritten(text: string, touches: Readonly<Record<string, Touch>>, cuts: readonly number[] = []): string {
  const body = Buffer.from(text);
  const chunks = split(body, cuts);
  const rewriter = new Rewriter(new Map(Object.entries(touches)));
  for (const chunk of chunks) rewriter.feed(chunk);
  const edits = rewriter.end();
  if ('code' in edits) return edits.code;
  const result = new EditedBody(bodyOf(chunks), edits);
  const whole = Buffer.concat(result.chunks ?? []);
  if (whole.length !== result.bytes) throw new Error(`${result.bytes} bytes are said to be there, not ${whole.length}`);
  return whole.toString();
}

const cases: [what: string, before: string, touches: Record<string, Touch>, after: string][] = [
  ['nothing', ' { "a" : 1.0 } ', { b: strip }, ' { "a" : 1.0 } '],
  ['a value', '{"a":1,"b":[1, {"a":2}] ,"c":"x"}', { b: set('true') }, '{"a":1,"b":true ,"c":"x"}'],
  ['the first value', '{ "a" : "x\\"}" , "b":1}', { a: set('{"z":[]}') }, '{ "a" : {"z":[]} , "b":1}'],
  ['the last value', '{"a":1,"b": 2\n}', { b: set('3') }, '{"a":1,"b": 3\n}'],
  ['a value that was missing', '{"a":1 }', { b: set('2') }, '{"a":1 ,"b":2}'],
  ['a value of an empty body', '{ }', { b: set('2'), c: unless('3') }, '{ "b":2,"c":3}'],
  ['a value wherever it stands', '{"b":1,"a":0,"\\u0062":2}', { b: set('9') }, '{"b":9,"a":0,"\\u0062":9}'],
  ['the default of what is missing', '{"a":{"b":1}}', { b: unless('[2]') }, '{"a":{"b":1},"b":[2]}'],
  ['no default of what is there', '{"a":1,"b":null}', { b: unless('2') }, '{"a":1,"b":null}'],
  ['the first out', '{ "b" : 1 , "a":2}', { b: strip }, '{ "a":2}'],
  ['the middle out', '{"a":1 , "b": "x" , "c":3}', { b: strip }, '{"a":1  , "c":3}'],
  ['the last out', '{"a":1, "b":[1,2] }', { b: strip }, '{"a":1 }'],
  ['the only one out', '{ "b":1 }', { b: strip }, '{  }'],
  ['all out', '{"b":1,"c":2,"b":3}', { b: strip, c: strip }, '{}'],
  ['all out and one in', '{"b":1,"c":2}', { b: strip, c: strip, d: set('4') }, '{"d":4}'],
  ['the first two and the last out', '{"b":1,"c":2,"a":0,"b":3}', { b: strip, c: strip }, '{"a":0}'],
  ['behind a byte order mark', '\uFEFF{"a":1,"b":2}', { a: set('"é"') }, '\uFEFF{"a":"é","b":2}'],
  ['a key beyond ASCII', '{"ключ":1}', { ключ: set('2') }, '{"ключ":2}'],
];

describe('changes only', () => {
  test.for(cases)('%s, wherever the body is cut', ([, before, touches, after], { expect }) => {
    const length = Buffer.byteLength(before);
    for (let cut = 0; cut <= length; cut++) expect(rewritten(before, touches, [cut]), `cut at ${cut}`).toBe(after);
    const everywhere = Array.from({ length }, (_, i) => i);
    expect(rewritten(before, touches, everywhere)).toBe(after);
  });
});

test('a body that says the same over and over is not rewritten', ({ expect }) => {
  const body = `{${Array(2_000).fill('"b":1').join(',')}}`;
  for (const touch of [strip, set('1')]) expect(rewritten(body, { b: touch })).toBe('invalid_request');
  expect(rewritten(`{"b":1,${Array(2_000).fill('"a":1').join(',')}}`, { b: strip })).toMatch(/^{"a":1,/);
});

const touch = fc.constantFrom<Touch>(strip, set('"new"'), unless('"new"'));
const name = fc.constantFrom('a', 'b', 'model', 'x y', 'é"');
const gap = fc.constantFrom('', ' ', '\n\t');
// JSON.parse of Node 24 takes an escaped letter for a key that is one backslash, if it met that key before.
const letters = fc.string().filter((key) => !key.includes('\\'));
const member = fc.record({ key: fc.oneof(name, letters), value: fc.json(), gap });

test('makes of every body what JSON.parse and an assignment would', ({ expect }) => {
  const touches = fc.uniqueArray(fc.tuple(name, touch), { selector: ([key]) => key, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.array(member, { maxLength: 8 }),
      touches,
      fc.array(fc.nat(500), { maxLength: 5 }),
      (all, to, cuts) => {
        const pairs = all.filter(({ key }) => key !== '__proto__');
        const text = `{${pairs.map(({ key, value, gap: g }) => `${g}${JSON.stringify(key)}${g}:${g}${value}${g}`).join(',')}}`;
        const wanted: Record<string, unknown> = JSON.parse(text);
        const rewrite: Rewrite = new Map(to);
        for (const [key, { kind }] of rewrite) {
          if (kind === 'strip') delete wanted[key];
          else if (kind === 'set' || !Object.hasOwn(wanted, key)) wanted[key] = 'new';
        }
        const found = rewritten(text, Object.fromEntries(rewrite), cuts);
        expect(JSON.parse(found)).toEqual(wanted);
      },
    ),
    { numRuns: 3_000 },
  );
});

test('a request gets the parameters of its model and the name its engine knows', async ({ expect, onTestFinished }) => {
  const asked: Seen[] = [];
  const upstream = await httpUpstream((req, res) => {
    void seen(req).then((it) => {
      asked.push(it);
      res.end('{}');
    });
  });
  const rewrite = new Map<string, Touch>([
    ['temperature', strip],
    ['top_k', set('40')],
    ['max_tokens', unless('100')],
  ]);
  const rig = await openRig({ upstream, rewrite, onTestFinished });
  const body = '{"temperature":0.5, "model" : "gpt-4o","messages":[ {"temperature":1} ]}';
  expect((await ask(rig.port, '/v1/chat/completions', { body })).status).toBe(200);
  const expected = '{"model" : "alpha","messages":[ {"temperature":1} ],"top_k":40,"max_tokens":100}';
  expect(asked[0]?.body.toString()).toBe(expected);
  expect(asked[0]?.headers['content-length']).toBe(String(expected.length));
});
