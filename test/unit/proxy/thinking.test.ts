import { describe, test } from 'vitest';
import type { Thinking } from '../../../src/proxy/thinking.ts';
import { ask, RawClient } from '../../helpers/client.ts';
import { openRig, type RigOptions } from '../../helpers/rig.ts';
import { httpUpstream, seen } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const CHAT = '/v1/chat/completions';
const ALL: Thinking = { modes: ['default', 'enabled', 'disabled'], told: 'template' };
const NONE: Thinking = { modes: ['default'], told: 'template' };

/** A data plane whose engine keeps what it is asked. */
async function rigWith(options: Omit<RigOptions, 'upstream'>) {
  const bodies: string[] = [];
  const upstream = await httpUpstream((req, res) => {
    void seen(req).then(
      ({ body }) => {
        bodies.push(body.toString());
        res.end('{}');
      },
      () => {}, // it was cut off
    );
  });
  return { rig: await openRig({ ...options, upstream }), bodies };
}

describe('the word `thinking`', () => {
  test.for<[what: string, thinking: Thinking, before: string, after: string]>([
    [
      'enabled is told to the template',
      ALL,
      '{"model":"alpha", "thinking" : "enabled" ,"x":1}',
      '{"model":"alpha" ,"x":1,"chat_template_kwargs":{"enable_thinking":true}}',
    ],
    [
      'disabled too',
      ALL,
      '{"thinking":"disabled","model":"alpha"}',
      '{"model":"alpha","chat_template_kwargs":{"enable_thinking":false}}',
    ],
    [
      'beside what else the template is told',
      ALL,
      '{"model":"alpha","chat_template_kwargs": {"a":[1],"enable_thinking":false},"thinking":"enabled"}',
      '{"model":"alpha","chat_template_kwargs": {"a":[1],"enable_thinking":true}}',
    ],
    ['null is as if it were not there', ALL, '{"model":"alpha","thinking":null}', '{"model":"alpha","thinking":null}'],
    [
      'the last one counts',
      ALL,
      '{"model":"alpha","thinking":true,"thinking":{"type":"enabled"}}',
      '{"model":"alpha","thinking":true,"thinking":{"type":"enabled"}}',
    ],
    ['default changes nothing', ALL, '{"thinking":"default","model":"alpha"}', '{"model":"alpha"}'],
    [
      'default changes nothing, whatever the model can',
      NONE,
      '{"model":"alpha","thinking":"default"}',
      '{"model":"alpha"}',
    ],
    [
      'its last mention counts',
      ALL,
      '{"model":"alpha","thinking":"disabled","thinking":"enabled"}',
      '{"model":"alpha","chat_template_kwargs":{"enable_thinking":true}}',
    ],
    [
      'an object is the business of the engine',
      NONE,
      '{"model":"alpha","thinking":{"type":"enabled","budget_tokens":9}}',
      '{"model":"alpha","thinking":{"type":"enabled","budget_tokens":9}}',
    ],
    [
      'as is one that is nested',
      NONE,
      '{"model":"alpha","x":{"thinking":"enabled"}}',
      '{"model":"alpha","x":{"thinking":"enabled"}}',
    ],
    [
      'an engine that reads the word gets it',
      { ...ALL, told: 'as it is' },
      '{"model":"alpha","thinking":"enabled"}',
      '{"model":"alpha","thinking":"enabled"}',
    ],
  ])('%s', async ([, thinking, before, after], { expect, onTestFinished }) => {
    const { rig, bodies } = await rigWith({ thinking, onTestFinished });
    expect((await ask(rig.port, CHAT, { body: before })).status).toBe(200);
    expect(bodies).toEqual([after]);
  });

  test.for<[what: string, thinking: Thinking, body: string, status: number, code: string]>([
    ['one that the model does not take', NONE, '{"model":"alpha","thinking":"enabled"}', 400, 'thinking_unsupported'],
    [
      'one that this model does not take',
      { modes: ['default', 'disabled'], told: 'template' },
      '{"thinking":"enabled","model":"alpha"}',
      400,
      'thinking_unsupported',
    ],
    ['no word of ours', ALL, '{"model":"alpha","thinking":"deeply"}', 422, 'unfit_body'],
    ...['true', 'false', '1', '-0.5', '["enabled"]'].map(
      (value) =>
        [`${value}, whatever it means`, NONE, `{"model":"alpha","thinking":${value}}`, 422, 'unfit_body'] as [
          string,
          Thinking,
          string,
          number,
          string,
        ],
    ),
    ['a long text', ALL, `{"model":"alpha","thinking":"${'x'.repeat(500)}"}`, 422, 'unfit_body'],
    [
      'parameters that are no object',
      ALL,
      '{"model":"alpha","thinking":"enabled","chat_template_kwargs":[1]}',
      400,
      'invalid_request',
    ],
    [
      'parameters that are no JSON',
      ALL,
      '{"model":"alpha","thinking":"enabled","chat_template_kwargs":{a}}',
      400,
      'invalid_request',
    ],
  ])('is refused: %s', async ([, thinking, body, status, code], { expect, onTestFinished }) => {
    const { rig, bodies } = await rigWith({ thinking, onTestFinished });
    const reply = await ask(rig.port, CHAT, { body });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([status, code]);
    expect([bodies, rig.admission.leases]).toEqual([[], []]);
  });

  test("is nothing to Anthropic's clients, who say it otherwise", async ({ expect, onTestFinished }) => {
    const { rig, bodies } = await rigWith({ thinking: NONE, onTestFinished });
    for (const body of ['{"model":"alpha","thinking":{"type":"enabled"}}', '{"model":"alpha","thinking":"enabled"}'])
      expect((await ask(rig.port, '/v1/messages', { body })).status).toBe(200);
    expect(bodies).toEqual([
      '{"model":"alpha","thinking":{"type":"enabled"}}',
      '{"model":"alpha","thinking":"enabled"}',
    ]);
  });

  test('counts as well with the parameters of the model', async ({ expect, onTestFinished }) => {
    const rewrite = new Map([['chat_template_kwargs', { kind: 'set', json: '{"b":2}' } as const]]);
    const { rig, bodies } = await rigWith({ thinking: ALL, rewrite, onTestFinished });
    const body = '{"model":"alpha","chat_template_kwargs":{"a":1},"thinking":"disabled"}';
    await ask(rig.port, CHAT, { body });
    expect(bodies).toEqual(['{"model":"alpha","chat_template_kwargs":{"b":2,"enable_thinking":false}}']);
  });

  test('is found at the end of a body that is passed on, and then the engine never has it whole', async ({
    expect,
    onTestFinished,
  }) => {
    const { rig, bodies } = await rigWith({ thinking: NONE, onTestFinished });
    const start = `{"model":"alpha","image":"${'x'.repeat(2_000_000)}"`;
    const end = ',"thinking":"enabled"}';
    const client = new RawClient(rig.port, onTestFinished);
    client.say(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: ${start.length + end.length}\r\n\r\n${start}`);
    await waitFor('the body to be passed on', () => rig.admission.leases.length === 1);
    client.say(end);
    await waitFor('the answer', () => client.text.includes('thinking_unsupported'));
    expect(client.text).toMatch(/^HTTP\/1\.1 400 /);
    expect(bodies).toEqual([]);
  });

  test('makes a large body wait to be here whole only where the model takes it', async ({ expect, onTestFinished }) => {
    const { rig, bodies } = await rigWith({ thinking: ALL, onTestFinished });
    const body = `{"model":"alpha","image":"${'x'.repeat(2_000_000)}","thinking":"enabled"}`;
    expect((await ask(rig.port, CHAT, { body })).status).toBe(200);
    expect(bodies[0]?.endsWith('","chat_template_kwargs":{"enable_thinking":true}}')).toBe(true);
  });
});
