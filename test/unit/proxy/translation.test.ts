import { describe, test } from 'vitest';
import { ask } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, seen } from '../../helpers/upstream.ts';

const CHAT = '/v1/chat/completions';

/** What the engine of a model that translates is asked, or the refusal. */
async function translate(
  onTestFinished: (clean: () => Promise<void>) => void,
  body: object | string,
  path = CHAT,
): Promise<{ status: number; code: string | undefined; param: unknown; asked: string | undefined }> {
  const bodies: string[] = [];
  const upstream = await httpUpstream((req, res) => {
    void seen(req).then((it) => {
      bodies.push(it.body.toString());
      res.end('{"error":{"param":null}}');
    });
  });
  const rig = await openRig({ upstream, translates: true, onTestFinished });
  const reply = await ask(rig.port, path, { body: typeof body === 'string' ? body : JSON.stringify(body) });
  const code = reply.headers['x-catnap-error'];
  const { error } = JSON.parse(reply.text);
  return {
    status: reply.status,
    code: code === undefined ? undefined : String(code),
    param: error.param,
    asked: bodies[0],
  };
}

const said = (text: string, more: object = {}) => ({
  model: 'alpha',
  messages: [{ role: 'user', content: text }],
  ...more,
});

const part = (source: string, target: string, text: string, type = 'text') => [
  { role: 'user', content: [{ type, source_lang_code: source, target_lang_code: target, text }] },
];

const params = (source: string, target: string) => ({ source_lang_code: source, target_lang_code: target });

const DETECTED = /^The text below may hold several languages\. Detect [^\n]*\n\nAhoj\. Guten Tag\.$/;

describe('a request to a model that translates', () => {
  test('with a known source becomes one structured turn; every other byte stays', async ({
    expect,
    onTestFinished,
  }) => {
    const body =
      '{ "model":"alpha" , "source_lang_code":"cs", "temperature": 0.10,"messages":[{"role":"user","content":"Ahoj"}],"target_lang_code":"de-DE"}';
    const { status, asked } = await translate(onTestFinished, body);
    expect(status).toBe(200);
    const turn = JSON.stringify(part('cs', 'de-DE', 'Ahoj'));
    const told = JSON.stringify(params('cs', 'de-DE'));
    expect(asked).toBe(`{ "model":"alpha" , "temperature": 0.10,"messages":${turn},"chat_template_kwargs":${told}}`);
  });

  test.for([
    ['is missing', {}],
    ['is null', { source_lang_code: null }],
    ['is auto', { source_lang_code: 'auto' }],
    ['is Mixed', { source_lang_code: 'Mixed' }],
  ] as const)(
    'whose source %s gets a valid one and a short instruction',
    async ([, more], { expect, onTestFinished }) => {
      for (const [target, source] of [
        ['de', 'en'],
        ['en-GB', 'es'],
      ] as const) {
        const { asked = '' } = await translate(
          onTestFinished,
          said('Ahoj. Guten Tag.', { ...more, target_lang_code: target }),
        );
        const [message] = JSON.parse(asked).messages;
        expect(message.content[0]).toMatchObject({ type: 'text', source_lang_code: source, target_lang_code: target });
        expect(message.content[0].text).toMatch(DETECTED);
        expect(Object.keys(JSON.parse(asked))).toEqual(['model', 'messages', 'chat_template_kwargs']);
      }
    },
  );

  test('may be in parts, or structured already', async ({ expect, onTestFinished }) => {
    const content = [{ type: 'text', text: 'Ahoj' }];
    const parts = {
      model: 'alpha',
      messages: [{ role: 'user', content }],
      target_lang_code: 'de',
      source_lang_code: 'cs',
    };
    expect(JSON.parse((await translate(onTestFinished, parts)).asked ?? '').messages).toEqual(part('cs', 'de', 'Ahoj'));
    const structured = { model: 'alpha', messages: part('cs', 'de', 'Ahoj') };
    expect(JSON.parse((await translate(onTestFinished, structured)).asked ?? '')).toEqual({
      ...structured,
      chat_template_kwargs: params('cs', 'de'),
    });
  });

  test('may be a response of OpenAI', async ({ expect, onTestFinished }) => {
    const codes = { source_lang_code: 'cs', target_lang_code: 'de' };
    for (const input of ['Ahoj', [{ role: 'user', content: 'Ahoj' }]]) {
      const { asked = '' } = await translate(onTestFinished, { model: 'alpha', input, ...codes }, '/v1/responses?x=1');
      expect(JSON.parse(asked)).toEqual({
        model: 'alpha',
        input: part('cs', 'de', 'Ahoj', 'input_text'),
        chat_template_kwargs: params('cs', 'de'),
      });
    }
  });

  test('elsewhere is passed on as it is', async ({ expect, onTestFinished }) => {
    const body = '{"model":"alpha","prompt":"Ahoj"}';
    expect((await translate(onTestFinished, body, '/v1/completions')).asked).toBe(body);
  });

  const user = { role: 'user', content: 'Ahoj' };
  const to = { target_lang_code: 'de' };
  test.for<[what: string, body: object, param: string]>([
    ['several user turns', { model: 'alpha', messages: [user, user], ...to }, 'messages'],
    [
      'a conversation',
      { model: 'alpha', messages: [user, { role: 'assistant', content: 'x' }, user], ...to },
      'messages',
    ],
    ['a system turn', { model: 'alpha', messages: [{ role: 'system', content: 'x' }, user], ...to }, 'messages'],
    ['no turn', { model: 'alpha', messages: [], ...to }, 'messages'],
    ['no messages', { model: 'alpha', ...to }, 'messages'],
    ['messages of another kind', { model: 'alpha', messages: 'Ahoj', ...to }, 'messages'],
    [
      'an image',
      { model: 'alpha', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }], ...to },
      'messages',
    ],
    ['no target', said('Ahoj'), 'target_lang_code'],
    ['a target that is no code', said('Ahoj', { target_lang_code: 'German, please' }), 'target_lang_code'],
    ['a target of another kind', said('Ahoj', { target_lang_code: 7 }), 'target_lang_code'],
    ['a source of another kind', said('Ahoj', { ...to, source_lang_code: ['cs'] }), 'source_lang_code'],
    ['a source that is no code', said('Ahoj', { ...to, source_lang_code: '' }), 'source_lang_code'],
  ])('is refused with %s', async ([, body, param], { expect, onTestFinished }) => {
    const told = await translate(onTestFinished, body);
    expect(told).toEqual({ status: 400, code: 'invalid_request', param, asked: undefined });
  });

  test('whatever its parts are called', async ({ expect, onTestFinished }) => {
    const content = [{ type: 'text', text: 'Ahoj', code: 'internal', message: 'x' }];
    const body = { model: 'alpha', messages: [{ role: 'user', content }], source_lang_code: 'cs', ...to };
    expect(JSON.parse((await translate(onTestFinished, body)).asked ?? '').messages).toEqual(part('cs', 'de', 'Ahoj'));
  });

  test('that is too long to be read is refused, and not read', async ({ expect, onTestFinished }) => {
    const told = await translate(onTestFinished, said('x'.repeat(1_100_000), to));
    expect([told.status, told.code, told.asked]).toEqual([413, 'body_too_large', undefined]);
  });
});
