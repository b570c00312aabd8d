import fc from 'fast-check';
import { describe, test } from 'vitest';
import { FormScanner } from '../../../src/proxy/form-scan.ts';
import { ModelScanner } from '../../../src/proxy/model-scan.ts';
import type { NameScanner } from '../../../src/proxy/name-scanner.ts';
import { PassingBody } from '../../../src/proxy/passing-body.ts';
import { split } from '../../helpers/body-of.ts';
import { loosely, truth } from '../../helpers/loose-json.ts';
import { settled, VirtualClock } from '../../helpers/virtual-clock.ts';

type Passing = {
  readonly body: Buffer;
  readonly cuts: readonly number[];
  /** How often the engine takes something before the next piece comes. */
  readonly takes: readonly number[];
  readonly scanner: NameScanner;
  /** The name that the engine knows, and how it is written. */
  readonly rename: { readonly name: string; readonly text: string } | undefined;
};

type Passed = { readonly sent: Buffer; readonly announced: number; readonly end: string };

/** Passes a body on as a request does: each piece through the scanner first, the rest as soon as the name is known. */
async function pass({ body, cuts, takes, scanner, rename }: Passing): Promise<Passed | 'kept'> {
  const clock = new VirtualClock();
  const sent: Buffer[] = [];
  let end = '';
  const before: Buffer[] = [];
  let passing: PassingBody | undefined;
  let reading: Promise<void> | undefined;
  const take = (): void => {
    const from = passing;
    if (from === undefined || reading !== undefined || end !== '') return;
    reading = from.next().then(
      (pieces) => {
        reading = undefined;
        if (pieces === undefined) end = 'ended';
        else sent.push(...pieces.map((piece) => Buffer.from(piece)));
      },
      (error: Error) => {
        end = error.name;
      },
    );
  };
  for (const [i, chunk] of split(body, cuts).entries()) {
    scanner.feed(chunk);
    if (scanner.problem !== undefined) {
      passing?.fail(scanner.problem);
      break;
    }
    if (passing !== undefined) passing.add(chunk);
    else before.push(chunk);
    if (passing === undefined && scanner.name !== undefined) {
      const renaming = rename && { scanner, text: rename.text };
      passing = new PassingBody({
        announced: body.length,
        renaming: rename?.name === scanner.name ? undefined : renaming,
        limitMs: 1_000,
        clock,
        drained: () => {},
      });
      for (const earlier of before) passing.add(earlier);
    }
    for (let n = takes[i % takes.length] ?? 0; n > 0; n--) {
      take();
      await Promise.resolve();
    }
  }
  if (passing === undefined) return 'kept';
  const found = scanner.end();
  if (found.kind === 'found') passing.end();
  else if (found.kind === 'unreadable') passing.fail(found.problem);
  for (let left = 12; left > 0; left--) {
    take();
    await settled();
  }
  return { sent: Buffer.concat(sent), announced: passing.bytes, end };
}

const cuts = fc.array(fc.nat(500), { maxLength: 8 });
const takes = fc.array(fc.nat(2), { minLength: 1, maxLength: 4 });
const names = fc.constantFrom(undefined, 'a', 'z', '', 'a-name-that-is-a-good-deal-longer', 'with "quotes"', 'имя');

describe('whatever JSON passes, wherever it is cut', () => {
  test('the engine gets what JSON.parse says it should, or never gets it whole', async ({ expect }) => {
    await fc.assert(
      fc.asyncProperty(loosely, cuts, takes, names, async (written, cutAt, taking, name) => {
        const rename = name === undefined ? undefined : { name, text: JSON.stringify(name) };
        const body = Buffer.from(written.text);
        const passed = await pass({ body, cuts: cutAt, takes: taking, scanner: new ModelScanner(), rename });
        const expected = truth(written);
        if (passed === 'kept') {
          expect(expected).not.toMatch(/^found/);
          return;
        }
        const again = written.pairs.filter(([key]) => JSON.parse(key) === 'model').length > 1;
        if (!expected.startsWith('found') || (again && name !== undefined && passed.end === 'Withheld')) {
          expect([passed.end, passed.sent.length < passed.announced]).toEqual(['Withheld', true]);
          return;
        }
        expect([passed.end, passed.sent.length]).toEqual(['ended', passed.announced]);
        const { model, ...others } = JSON.parse(written.text);
        expect(JSON.parse(passed.sent.toString())).toEqual({ ...others, model: name ?? model });
        if (name === undefined) expect(passed.sent.equals(body)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test('what is no JSON is never sent whole', async ({ expect }) => {
    const scribble = fc
      .string({ unit: fc.constantFrom(...'{}[]":,\\ model1"a'.split('')) })
      .map((tail) => `{"model":"a"${tail}`);
    await fc.assert(
      fc.asyncProperty(scribble, cuts, takes, async (text, cutAt, taking) => {
        const whole = new ModelScanner();
        whole.feed(Buffer.from(text));
        const passed = await pass({
          body: Buffer.from(text),
          cuts: cutAt,
          takes: taking,
          scanner: new ModelScanner(),
          rename: undefined,
        });
        if (passed === 'kept') return;
        const right = whole.end().kind === 'found';
        expect([passed.end, passed.sent.length === passed.announced]).toEqual([right ? 'ended' : 'Withheld', right]);
      }),
      { numRuns: 2_000 },
    );
  });
});

test('whatever form passes, the platform reads in it what it was sent, under the new name', async ({ expect }) => {
  const value = fc.constantFrom('a', 'b', '', '\r\n', '--', '--x', 'é');
  const parts = fc.array(fc.tuple(fc.constantFrom('model', 'file', 'models'), value), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(parts, cuts, takes, names, async (fields, cutAt, taking, name) => {
      const data = new FormData();
      for (const [field, text] of fields) data.append(field, text);
      const response = new Response(data);
      const type = response.headers.get('content-type') ?? '';
      const body = Buffer.from(await response.arrayBuffer());
      const rename = name === undefined ? undefined : { name, text: name };
      const passed = await pass({ body, cuts: cutAt, takes: taking, scanner: new FormScanner(type), rename });
      const models = new Set(fields.filter(([field]) => field === 'model').map(([, text]) => text));
      if (passed === 'kept') {
        expect(models.size).not.toBe(1);
        return;
      }
      const again = fields.filter(([field]) => field === 'model').length > 1;
      if (models.size > 1 || (again && name !== undefined && passed.end === 'Withheld')) {
        expect([passed.end, passed.sent.length < passed.announced]).toEqual(['Withheld', true]);
        return;
      }
      expect([passed.end, passed.sent.length]).toEqual(['ended', passed.announced]);
      const read = await new Response(passed.sent.toString(), {
        headers: { 'content-type': type },
      }).formData();
      expect([...read.entries()]).toEqual(
        fields.map(([field, text]) => [field, field === 'model' ? (name ?? text) : text.replaceAll(/\r?\n/g, '\r\n')]),
      );
    }),
    { numRuns: 500 },
  );
});

describe('its client', () => {
  const open = (announced = 1_000_000) => {
    const clock = new VirtualClock();
    const told: string[] = [];
    const passing = new PassingBody({
      announced,
      renaming: undefined,
      limitMs: 1_000,
      clock,
      drained: () => told.push('drained'),
    });
    return { clock, told, passing };
  };

  test('is held back while the engine takes nothing, and let on when it has taken enough', async ({ expect }) => {
    const { told, passing } = open();
    expect(passing.add(Buffer.alloc(200_000))).toBe(true);
    expect(passing.add(Buffer.alloc(200_000))).toBe(false);
    expect(told).toEqual([]);
    await passing.next();
    expect(told).toEqual(['drained']);
    passing.drop();
  });

  test('is given up when it takes too long', async ({ expect }) => {
    const { clock, passing } = open();
    passing.add(Buffer.alloc(10));
    await passing.next();
    const next = passing.next();
    const refused = expect(next).rejects.toMatchObject({ refusal: { code: 'body_timeout' } });
    await clock.advance(1_000);
    await refused;
    expect(clock.pending).toBe(0);
  });

  test('is not blamed for an engine that takes nothing', async ({ expect }) => {
    const { clock, passing } = open();
    passing.add(Buffer.alloc(10));
    await clock.advance(5_500);
    expect((await passing.next())?.[0]?.length).toBe(9);
    passing.end();
    expect((await passing.next())?.[0]?.length).toBe(1);
    expect(clock.pending).toBe(0);
  });
});
