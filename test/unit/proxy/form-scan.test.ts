import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { bodyOf, split } from '../../helpers/body-of.ts';
import { EditedBody } from '../../../src/proxy/edited.ts';
import { FormScanner } from '../../../src/proxy/form-scan.ts';
import type { Scan } from '../../../src/proxy/name-scanner.ts';
import { ask } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, seen, type Seen } from '../../helpers/upstream.ts';

const TYPE = 'multipart/form-data; boundary=xYz';

function scan(text: string | Buffer, cuts: readonly number[] = [], type = TYPE): Scan {
  const scanner = new FormScanner(type);
  for (const piece of split(Buffer.from(text), cuts)) scanner.feed(piece);
  return scanner.end();
}

const nameIn = (found: Scan): string | undefined => (found.kind === 'found' ? found.name : undefined);
const verdict = (found: Scan): string => (found.kind === 'unreadable' ? found.problem.code : found.kind);

const part = (head: string, content: string): string => `--xYz\r\n${head}\r\n\r\n${content}\r\n`;
const field = (name: string, content: string): string =>
  part(`Content-Disposition: form-data; name="${name}"`, content);
const file = (content: string): string =>
  part(
    'Content-Disposition: form-data; name="file"; filename="a; name=\\"model\\".wav"\r\nContent-Type: audio/wav',
    content,
  );
const form = (...parts: string[]): string => `${parts.join('')}--xYz--\r\n`;

describe('finds the field', () => {
  const cases: [what: string, text: string, name: string][] = [
    ['before the file', form(field('model', 'whisper'), file('RIFF')), 'whisper'],
    ['after the file', form(file('RIFF'), field('model', 'whisper')), 'whisper'],
    ['after what looks like one', form(file(field('model', 'no').slice(2)), field('model', 'whisper')), 'whisper'],
    ['after what looks like a boundary', form(file('\r\n--xY\r\n--\r\n-'), field('model', 'a')), 'a'],
    ['and no other', form(field('models', 'no'), field('Model', 'no'), field('model', 'a')), 'a'],
    ['empty', form(field('model', '')), ''],
    ['with line ends in it', form(field('model', 'a\r\nb')), 'a\r\nb'],
    ['beyond ASCII', form(field('model', 'модель-😀')), 'модель-😀'],
    ['without quotes', form(part('content-disposition:form-data;name=model', 'a')), 'a'],
    [
      'among other headers',
      form(part('Content-Type: text/plain\r\nCONTENT-DISPOSITION: Form-Data ; NAME="model"', 'a')),
      'a',
    ],
    ['twice, with one value', form(field('model', 'a'), field('model', 'a')), 'a'],
    ['behind an empty line', `\r\n${form(field('model', 'a'))}`, 'a'],
    ['before no line end', form(field('model', 'a')).trimEnd(), 'a'],
  ];
  test.for(cases)('%s, wherever the body is cut', ([, text, name], { expect }) => {
    const length = Buffer.byteLength(text);
    expect(nameIn(scan(text))).toBe(name);
    for (let cut = 0; cut <= length; cut++) expect(nameIn(scan(text, [cut])), `cut at ${cut}`).toBe(name);
    const everywhere = Array.from({ length }, (_, i) => i);
    expect(nameIn(scan(text, everywhere))).toBe(name);
  });

  test.for([
    'multipart/form-data; boundary=xYz',
    'multipart/form-data;charset=utf-8;boundary="xYz"',
    'Multipart/Form-Data; BOUNDARY=xYz;',
  ])('by the boundary of %s', (type, { expect }) => {
    expect(nameIn(scan(form(field('model', 'a')), [], type))).toBe('a');
  });

  test('as soon as it was read', ({ expect }) => {
    const scanner = new FormScanner(TYPE);
    scanner.feed(Buffer.from(`${field('model', 'a')}--xYz`));
    expect(scanner.name).toBe('a');
  });
});

test.for([
  ['true', true],
  ['True', true],
  ['1', true],
  ['false', false],
  ['', false],
  ['true '.repeat(2_000), false],
] as const)('tells that a stream is asked for by %j: %s', ([said, stream], { expect }) => {
  const text = form(field('model', 'a'), field('stream', said), file('RIFF'));
  for (const cuts of [[], [60, 70, 130, 140, 141, 142], Array.from(text, (_, i) => i)]) {
    const scanner = new FormScanner(TYPE);
    for (const piece of split(Buffer.from(text), cuts)) scanner.feed(piece);
    expect([scanner.stream, scanner.name, nameIn(scanner.end())]).toEqual([stream, 'a', 'a']);
  }
});

test('a form that says nothing of a stream, or has a file of that name', ({ expect }) => {
  const named = part('Content-Disposition: form-data; name="stream"; filename="true"', 'true');
  for (const text of [form(field('model', 'a')), form(field('model', 'a'), named)]) {
    const scanner = new FormScanner(TYPE);
    scanner.feed(Buffer.from(text));
    expect(scanner.stream).toBe(undefined);
  }
});

describe('says what is wrong', () => {
  const named = field('model', 'a');
  const cases: [what: string, text: string, code: string][] = [
    ['nothing', '', 'missing'],
    ['no parts', '--xYz--', 'missing'],
    ['no such field', form(field('x', 'a')), 'missing'],
    ['two models', form(named, field('model', 'b')), 'duplicate_model'],
    ['too many', form(...Array<string>(40).fill(named)), 'duplicate_model'],
    ['no end', named, 'invalid_request'],
    ['half an end', `${named}--xYz-`, 'invalid_request'],
    ['JSON', '{"model":"a"}', 'invalid_request'],
    ['something before the first boundary', `hello\r\n${form(named)}`, 'invalid_request'],
    ['something after the last', `${form(named)}${form(field('model', 'b'))}`, 'invalid_request'],
    ['something behind a boundary', form(named).replace('--xYz\r\n', '--xYz \r\n'), 'invalid_request'],
    ['another boundary', form(named).replaceAll('xYz', 'xYzz'), 'invalid_request'],
    ['bare line feeds', form(named).replaceAll('\r\n', '\n'), 'invalid_request'],
    [
      'a boundary for content',
      `--xYz\r\nContent-Disposition: form-data; name="model"\r\n\r\n--xYz--\r\n`,
      'invalid_request',
    ],
    ['a file', form(part('Content-Disposition: form-data; name="model"; filename="x"', 'a')), 'invalid_request'],
    [
      'an encoded field',
      form(part('Content-Disposition: form-data; name="model"\r\nContent-Transfer-Encoding: base64', 'YQ==')),
      'invalid_request',
    ],
    ['two names', form(part('Content-Disposition: form-data; name="x"; name="model"', 'a')), 'invalid_request'],
    [
      'a name in two forms',
      form(part(`Content-Disposition: form-data; name="x"; name*=utf-8''model`, 'a')),
      'invalid_request',
    ],
    [
      'two dispositions',
      form(part('Content-Disposition: form-data; name="x"\r\nContent-Disposition: form-data; name="model"', 'a')),
      'invalid_request',
    ],
    ['a folded header', form(part('Content-Disposition: form-data;\r\n name="model"', 'a')), 'invalid_request'],
    ['a part without a head', '--xYz\r\n\r\na\r\n--xYz--', 'invalid_request'],
    ['a long head', form(part(`X: ${'x'.repeat(20_000)}`, 'a')), 'invalid_request'],
    ['a long name', form(field('model', 'a'.repeat(5_000))), 'invalid_request'],
  ];
  test.for(cases)('%s', ([, text, code], { expect }) => {
    expect(verdict(scan(text))).toBe(code);
    expect(verdict(scan(text, [1, 2, 3, 5, 8, 13, 21, 34, 55, 89]))).toBe(code);
  });

  test.for([
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=a; boundary=b',
    'multipart/form-data; boundary="a',
    `multipart/form-data; boundary=${'a'.repeat(300)}`,
  ])('no boundary in %s', (type, { expect }) => {
    expect(scan(form(field('model', 'a')), [], type)).toMatchObject({ problem: { code: 'invalid_request' } });
  });
});

/** Forms as the platform writes them. */
const forms = fc.array(
  fc.record({
    name: fc.constantFrom('model', 'models', 'file', 'a"b', 'x\r\ny', 'mod\\el', 'é'),
    text: fc.oneof(fc.constantFrom('a', 'b', '', '\r\n', '--'), fc.string({ unit: 'grapheme' })),
    file: fc.boolean(),
  }),
  { maxLength: 6 },
);

type Part = { readonly name: string; readonly text: string; readonly file: boolean };

async function written(parts: readonly Part[]): Promise<{ body: Buffer; type: string }> {
  const data = new FormData();
  for (const { name, text, file: asFile } of parts) {
    if (asFile) data.append(name, new Blob([text]), '\\"; name="model');
    else data.append(name, text);
  }
  const response = new Response(data);
  return { body: Buffer.from(await response.arrayBuffer()), type: response.headers.get('content-type') ?? '' };
}

test('agrees with the platform on every form, wherever it is cut', async ({ expect }) => {
  const cuts = fc.array(fc.nat(2_000), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(forms, cuts, async (parts, at) => {
      const { body, type } = await written(parts);
      const read = await new Response(Buffer.from(body), { headers: { 'content-type': type } }).formData();
      const models = read.getAll('model');
      const found = scan(body, at, type);
      if (parts.some(({ name }) => name === 'mod\\el')) {
        expect(['invalid_request', 'duplicate_model']).toContain(verdict(found));
        return;
      }
      if (models.some((value) => typeof value !== 'string'))
        expect(['invalid_request', 'duplicate_model']).toContain(verdict(found));
      else if (new Set(models).size > 1) expect(verdict(found)).toBe('duplicate_model');
      else expect(nameIn(found)).toBe(models[0]);

      if (found.kind !== 'found') return;
      const edits = found.at.map((place) => ({ ...place, text: 'new' }));
      const renamed = new EditedBody(bodyOf(split(body, at)), edits);
      const again = await new Response(Buffer.concat(renamed.chunks ?? []), {
        headers: { 'content-type': type },
      }).formData();
      expect(new Set(again.getAll('model'))).toEqual(new Set(['new']));
      expect([...again.keys()]).toEqual([...read.keys()]);
      expect(renamed.bytes).toBe(Buffer.concat(renamed.chunks ?? []).length);
    }),
    { numRuns: 500 },
  );
});

test.for(['before', 'after'])(
  'a form with its model %s the file is passed on under the name the engine knows',
  async (where, { expect, onTestFinished }) => {
    const asked: Seen[] = [];
    const upstream = await httpUpstream((req, res) => {
      void seen(req).then((it) => {
        asked.push(it);
        res.end('{}');
      });
    });
    const rig = await openRig({ upstream, onTestFinished });
    const sound = randomBytes(2_000_000).toString('latin1');
    const parts = [field('model', 'gpt-4o'), file(sound)];
    const body = Buffer.from(form(...(where === 'before' ? parts : parts.toReversed())), 'latin1');
    const reply = await ask(rig.port, '/v1/audio/transcriptions', { body, headers: { 'content-type': TYPE } });
    expect(reply.status).toBe(200);
    const expected = Buffer.from(body.toString('latin1').replace('gpt-4o', 'alpha'), 'latin1');
    expect(asked[0]?.body.equals(expected)).toBe(true);
    expect(asked[0]?.headers).toMatchObject({ 'content-type': TYPE, 'content-length': String(expected.length) });
  },
);
