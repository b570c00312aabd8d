import { test } from 'vitest';
import { ERRORS, type ErrorCode } from '../../../src/core/errors.ts';
import { renderErrorEvent, renderRefusal } from '../../../src/proxy/envelope.ts';

const codes = Object.keys(ERRORS) as ErrorCode[];

test.for(codes)('%s: status, code, id and length', (code, { expect }) => {
  const { status, headers, body } = renderRefusal({ code, message: 'Do this.', param: 'model' }, 'openai', 'id-1');
  expect(status).toBe(ERRORS[code].status);
  expect(JSON.parse(body)).toEqual({ error: { message: 'Do this.', type: ERRORS[code].type, param: 'model', code } });
  expect(headers).toMatchObject({ 'x-catnap-error': code, 'x-request-id': 'id-1', 'content-length': `${body.length}` });
  expect(headers['x-should-retry']).toBe(ERRORS[code].retry ? undefined : 'false');
});

test('Retry-After is whole seconds, at least one, and only where it is known', ({ expect }) => {
  const after = (retryAfterMs: number | undefined): string | undefined =>
    renderRefusal({ code: 'lane_full', message: '', retryAfterMs }, 'openai', '').headers['retry-after'];
  expect([after(undefined), after(0), after(1), after(1_001), after(60_000)]).toEqual([undefined, '1', '1', '2', '60']);
});

test('the length counts bytes, not letters', ({ expect }) => {
  const { headers, body } = renderRefusal({ code: 'model_not_found', message: 'модель' }, 'openai', '');
  expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
});

test.for([
  ['model_not_found', 'not_found_error'],
  ['lane_full', 'rate_limit_error'],
  ['body_too_large', 'request_too_large'],
  ['forbidden', 'permission_error'],
  ['invalid_request', 'invalid_request_error'],
  ['wait_timeout', 'overloaded_error'],
  ['engine_timeout', 'timeout_error'],
  ['engine_died', 'api_error'],
] as const)("Anthropic's clients are told %s as %s", ([code, type], { expect }) => {
  const { body } = renderRefusal({ code, message: 'Do this.' }, 'anthropic', 'id-1');
  expect(JSON.parse(body)).toEqual({ type: 'error', error: { type, message: 'Do this.' }, request_id: 'id-1' });
});

test('in a stream the error is an event of its own', ({ expect }) => {
  const refusal = { code: 'engine_died', message: 'Lost.' } as const;
  const openai = renderErrorEvent(refusal, 'openai', 'id-1');
  expect(openai).toMatch(/^data: \{"error":\{"message":"Lost\.".*"code":"engine_died"\}\}\n\n$/);
  expect(renderErrorEvent(refusal, 'anthropic', 'id-1')).toMatch(/^event: error\ndata: \{"type":"error",.*\}\n\n$/);
});
