import { describe, test } from 'vitest';
import { ask, chat } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream } from '../../helpers/upstream.ts';
import { nextOf, wishesOf } from '../../../src/proxy/wishes.ts';

describe('what a client may wish for its wait', () => {
  test('nothing, as most do', ({ expect }) => {
    expect(wishesOf({ accept: '*/*' }, 'normal')).toEqual({});
  });

  test.for([
    ['low', 'normal', 'low'],
    ['high', 'normal', 'normal'],
    ['high', 'high', 'high'],
    ['normal', 'low', 'low'],
  ] as const)('priority %s where %s is allowed: %s', ([asked, most, priority], { expect }) => {
    expect(wishesOf({ 'x-catnap-priority': asked }, most)).toMatchObject({ priority });
  });

  test('that nobody is put away for it, and how long it waits', ({ expect }) => {
    const wishes = wishesOf({ 'x-catnap-swap': 'never', 'x-catnap-deadline-secs': '2.5' }, 'normal');
    expect(wishes).toMatchObject({ bound: true, withinMs: 2_500 });
    expect(wishesOf({ 'x-catnap-swap': 'allowed' }, 'normal')).toMatchObject({ bound: false });
  });

  test.for([
    [{}, { maySwap: false, priority: undefined }, { priority: 'normal', bound: true }],
    [{}, { maySwap: true, priority: 'high' }, { priority: 'high', bound: false }],
    [{ 'x-catnap-swap': 'allowed' }, { maySwap: false, priority: undefined }, { priority: 'normal', bound: true }],
    [{ 'x-catnap-priority': 'high' }, { maySwap: true, priority: 'low' }, { priority: 'low', bound: false }],
    [{ 'x-catnap-priority': 'low' }, { maySwap: true, priority: 'high' }, { priority: 'low', bound: false }],
    [{ 'x-catnap-priority': 'high' }, { maySwap: true, priority: 'high' }, { priority: 'high', bound: false }],
  ] as const)('%o with a key that has %o comes to %o', ([headers, key, wishes], { expect }) => {
    expect(wishesOf(headers, 'normal', key)).toMatchObject(wishes);
  });

  test.for([
    ['x-catnap-priority', 'urgent', 'low, normal, high'],
    ['x-catnap-swap', 'no', 'never, allowed'],
    ['x-catnap-deadline-secs', 'soon', 'a number of seconds'],
    ['x-catnap-deadline-secs', '-1', 'a number of seconds'],
  ] as const)('%s: %s is refused with what it takes', ([name, value, says], { expect }) => {
    const wishes = wishesOf({ [name]: value }, 'normal');
    expect(wishes).toMatchObject({ code: 'invalid_request', param: name, message: expect.stringContaining(says) });
  });
});

test('the model that comes next is told once, and is for catnap alone', async ({ expect, onTestFinished }) => {
  expect([nextOf({}), nextOf({ 'x-catnap-next': '' }), nextOf({ 'x-catnap-next': 'beta' })]).toEqual([
    undefined,
    undefined,
    'beta',
  ]);
  const heads: string[] = [];
  const upstream = await httpUpstream((req, res) => {
    heads.push(Object.keys(req.headers).join(' '));
    res.end('{}');
  });
  const rig = await openRig({ upstream, onTestFinished });
  for (const next of ['beta', 'nobody']) {
    const headers = { 'x-catnap-next': next };
    expect((await ask(rig.port, '/v1/chat/completions', { body: chat('alpha'), headers })).status).toBe(200);
  }
  expect(rig.announced).toEqual(['beta', 'no nobody']);
  expect(heads.join(' ')).not.toContain('x-catnap');
});
