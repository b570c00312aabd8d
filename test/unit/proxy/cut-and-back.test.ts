import type { ServerResponse } from 'node:http';
import { describe, test } from 'vitest';
import { isRepeatable } from '../../../src/proxy/repeatable.ts';
import { ask, chat } from '../../helpers/client.ts';
import { openRig, type Rig, type RigOptions } from '../../helpers/rig.ts';
import { httpUpstream, seen } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

/** An engine that says nothing until it is told to, and keeps what it was asked. */
async function mute(
  options: Omit<RigOptions, 'upstream'>,
): Promise<{ rig: Rig; asked: string[]; open: ServerResponse[] }> {
  const asked: string[] = [];
  const open: ServerResponse[] = [];
  const upstream = await httpUpstream((req, res) => {
    open.push(res);
    void seen(req).then(({ body }) => asked.push(String(body)));
  });
  return { rig: await openRig({ ...options, upstream }), asked, open };
}

const MAKES_ROOM = 'alpha had to make room';

describe('a request that the deadline of a drain has cut', () => {
  test('goes back to its place and is asked again, whole, when not a byte had come', async ({
    expect,
    onTestFinished,
  }) => {
    const { rig, asked, open } = await mute({ onTestFinished });
    const body = chat('alpha', { seed: 7 });
    const reply = ask(rig.port, '/v1/chat/completions', { body });
    await waitFor('the question', () => asked.length === 1);
    const [first] = rig.admission.leases;
    first?.end('drained', MAKES_ROOM, true);
    await waitFor('the question again', () => asked.length === 2);
    open[1]?.end('{"done":true}');
    expect(await reply).toMatchObject({ status: 200, text: '{"done":true}' });
    expect(asked).toEqual([body, body]);
    expect(rig.admission.wishes.map(({ place }) => place)).toEqual([undefined, first?.place]);
    expect(rig.admission.leases.map(({ settled }) => settled)).toEqual([['failed'], ['served']]);
    const { outcome, queuedMs } = await rig.record();
    expect([outcome, queuedMs]).toEqual(['served', 60]);
  });

  test('is told so the next time, with when to come back', async ({ expect, onTestFinished }) => {
    const { rig, asked } = await mute({ onTestFinished, limits: { drainReplays: 1 } });
    const reply = ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    for (const n of [1, 2]) {
      await waitFor('the question', () => asked.length === n);
      rig.admission.leases.at(-1)?.end('drained', MAKES_ROOM, true);
    }
    const { status, headers } = await reply;
    expect([status, headers['x-catnap-error'], headers['retry-after']]).toEqual([503, 'drained', '5']);
    expect(rig.admission.leases.map(({ settled }) => settled)).toEqual([['failed'], ['failed']]);
  });

  test('waits within what is left of its own deadline', async ({ expect, onTestFinished }) => {
    const { rig, asked, open } = await mute({ onTestFinished });
    const headers = { 'x-catnap-deadline-secs': '100' };
    const reply = ask(rig.port, '/v1/chat/completions', { body: chat('alpha'), headers });
    await waitFor('the question', () => asked.length === 1);
    rig.admission.leases[0]?.end('drained', MAKES_ROOM, true);
    await waitFor('the question again', () => asked.length === 2);
    open[1]?.end('{}');
    expect((await reply).status).toBe(200);
    const [before = 0, then = 0] = rig.admission.wishes.map(({ withinMs }) => withinMs);
    expect(before).toBe(100_000);
    expect(then).toBeLessThan(before);
    expect(then).toBeGreaterThan(0);
  });

  test('is kept company while it waits once more', async ({ expect, onTestFinished }) => {
    const limits = { commentAfterMs: 1, commentEveryMs: 1 };
    const { rig, asked, open } = await mute({ onTestFinished, limits });
    const reply = ask(rig.port, '/v1/chat/completions', { body: chat('alpha', { stream: true }) });
    await waitFor('the question', () => asked.length === 1);
    rig.admission.answering = 'hold';
    rig.admission.leases[0]?.end('drained', MAKES_ROOM, true);
    await waitFor('it to wait again', () => rig.admission.asked.length === 2);
    rig.admission.grantHeld();
    await waitFor('the question again', () => asked.length === 2);
    const second = open[1];
    second?.writeHead(200, { 'content-type': 'text/event-stream' });
    second?.end('data: x\n\n');
    const { status, text, whole } = await reply;
    expect([status, whole]).toEqual([200, true]);
    expect(text.endsWith('data: x\n\n')).toBe(true);
  });

  const not: readonly [string, Parameters<typeof ask>[1], Record<string, string>, boolean][] = [
    ['what was cut may not come back', '/v1/chat/completions', {}, false],
    ['the answer may be stored', '/v1/responses', {}, true],
    ['nobody knows what the path does', '/v1/fine_tunes', {}, true],
    ['nobody is to be put away for it', '/v1/chat/completions', { 'x-catnap-swap': 'never' }, true],
  ];
  for (const [why, path, headers, mayReturn] of not) {
    test(`is told so at once when ${why}`, async ({ expect, onTestFinished }) => {
      const { rig, asked } = await mute({ onTestFinished });
      const reply = ask(rig.port, path, { body: chat('alpha'), headers });
      await waitFor('the question', () => asked.length === 1);
      rig.admission.lease.end('drained', MAKES_ROOM, mayReturn);
      const { status, headers: answered } = await reply;
      expect([status, answered['x-catnap-error']]).toEqual([503, 'drained']);
      expect(rig.admission.asked).toHaveLength(1);
    });
  }

  test('breaks off when a byte had come', async ({ expect, onTestFinished }) => {
    const { rig, asked, open } = await mute({ onTestFinished });
    const reply = ask(rig.port, '/v1/chat/completions', { body: chat('alpha', { stream: true }) });
    await waitFor('the question', () => asked.length === 1);
    open[0]?.writeHead(200, { 'content-type': 'text/event-stream' });
    open[0]?.write('data: x\n\n');
    await waitFor('news', () => rig.admission.lease.news > 0);
    rig.admission.lease.end('drained', MAKES_ROOM, true);
    const { text, whole } = await reply;
    expect(whole).toBe(false);
    expect(text).toContain('"code":"drained"');
    expect(rig.admission.asked).toHaveLength(1);
  });
});

test('only what leaves nothing behind is asked twice', ({ expect }) => {
  const may = [
    'POST /v1/chat/completions',
    'POST /v1/completions?x=1',
    'POST /embeddings',
    'GET /v1/anything',
    'HEAD /x',
  ];
  const mayNot = [
    'POST /v1/responses',
    'POST /v1/files',
    'PUT /v1/chat/completions',
    'DELETE /v1/x',
    'POST /v1//messages',
  ];
  const judge = (line: string): boolean => isRepeatable(line.split(' ')[0] ?? '', line.split(' ')[1] ?? '');
  expect(may.filter((line) => !judge(line))).toEqual([]);
  expect(mayNot.filter(judge)).toEqual([]);
});
