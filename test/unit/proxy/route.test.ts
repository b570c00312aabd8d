import { describe, test } from 'vitest';
import { ACCESS } from '../../../src/config/access.ts';
import { routeRequest, routeUpgrade, type Route } from '../../../src/proxy/route.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const route = (method: string, url: string, headers = {}): Route => routeRequest({ method, url, headers });
const verdict = (found: Route): string => {
  if (found.kind === 'moved') return `moved to ${found.to}`;
  if (found.kind === 'refused') return found.refusal.code;
  return `${found.looks ? 'looks, ' : ''}model in ${found.named.in}`;
};

describe('what goes to an engine', () => {
  const cases: [method: string, url: string, verdict: string][] = [
    ['POST', '/v1/chat/completions', 'model in body'],
    ['POST', '/v1/completions', 'model in body'],
    ['POST', '/v1/embeddings', 'model in body'],
    ['POST', '/v1/responses', 'model in body'],
    ['POST', '/v1/messages?beta=true', 'model in body'],
    ['POST', '/v1/messages/count_tokens', 'model in body'],
    ['POST', '/v1/a/route/of/next/year', 'model in body'],
    ['POST', '/v1/chat/completions/', 'model in body'],
    ['PUT', '/v1/things/5', 'model in body'],
    ['POST', '/chat/completions', 'model in body'],
    ['POST', '/completion', 'model in body'],
    ['POST', '/infill', 'model in body'],
    ['POST', '/v2/rerank', 'model in body'],
    ['POST', 'http://somewhere:3000/v1/embeddings', 'model in body'],
    ['GET', '/v1/audio/voices?model=alpha', 'model in query'],
    ['DELETE', '/v1/responses/resp_1?model=alpha', 'model in query'],
    ['GET', '/props?model=alpha', 'looks, model in query'],
    ['GET', '/slots?model=alpha', 'looks, model in query'],
    ['HEAD', '/metrics?model=alpha', 'looks, model in query'],
    ['GET', '/slots', 'model_missing'],
    ['POST', '/props?model=alpha', 'not_found'],
    ['POST', '/slots?model=alpha', 'forbidden'],
    ['GET', '/slots/0?model=alpha', 'forbidden'],
    ['GET', '/v1/slots?model=alpha', 'forbidden'],
    ['GET', '/v1/audio/voices', 'not_found'],
    ['GET', '/v1/chat/completions', 'method_not_allowed'],
    ['GET', '/v1/chat/completions?model=alpha', 'method_not_allowed'],
    ['OPTIONS', '/v1/chat/completions', 'method_not_allowed'],
    ['POST', '/', 'not_found'],
    ['POST', '/v1', 'not_found'],
    ['POST', '/v1/v1/chat/completions', 'not_found'],
    ['POST', '/v1/models', 'not_found'],
    ['POST', '/v1/%61dmin/models', 'not_found'],
    ['POST', '/v2/repository/index', 'not_found'],
    ['POST', '/elsewhere', 'not_found'],
    ['POST', '/v1/embeddings?model=a&model=b', 'duplicate_model'],
    ['POST', '/v1/embeddings?model=a&model=%61', 'model in body'],
  ];
  test.for(cases)('%s %s: %s', ([method, url, expected], { expect }) => {
    expect(verdict(route(method, url, JSON_TYPE))).toBe(expected);
  });
});

test.for([
  '/sleep',
  '/sleep?level=1',
  '/wake_up',
  '/collective_rpc',
  '/pause',
  '/slots/0?action=save',
  '/v1/load_lora_adapter',
  '/v1/sleep',
  '/%73leep',
  '/v1/%77ake_up',
  '/v1/slots/0?action=erase&model=alpha',
])('POST %s is not for clients', (url, { expect }) => {
  expect(verdict(route('POST', url, JSON_TYPE))).toBe('forbidden');
});

test.for([
  '/v1/../sleep',
  '/v1/%2e%2e/sleep',
  '/v1/..%2fsleep',
  '/v1//sleep',
  '/v1/a%5cb',
  '/v1/%zz',
  '/v1/x%00',
  'v1/x',
  '*',
])('a path that two readers may read in two ways is refused: %s', (url, { expect }) => {
  expect(verdict(route('POST', url, JSON_TYPE))).toBe('invalid_request');
});

test('bodies that are neither JSON nor forms can have their model in the query only', ({ expect }) => {
  const form = { 'content-type': 'multipart/form-data; boundary=x' };
  expect(verdict(route('POST', '/v1/audio/transcriptions', form))).toBe('model in form');
  expect(verdict(route('POST', '/v1/audio/transcriptions?model=alpha', form))).toBe('model in form');
  const sound = { 'content-type': 'audio/wav' };
  expect(verdict(route('POST', '/v1/audio/transcriptions', sound))).toBe('model in query');
  expect(verdict(route('POST', '/v1/audio/transcriptions?model=alpha', sound))).toBe('model in query');
  expect(verdict(route('POST', '/v1/completions', { 'content-type': 'text/plain' }))).toBe('model in body');
  expect(verdict(route('POST', '/v1/completions'))).toBe('model in body');
});

test('errors are spoken in the dialect of the route', ({ expect }) => {
  expect(route('POST', '/v1/messages').dialect).toBe('anthropic');
  expect(route('POST', '/v1/chat/completions').dialect).toBe('openai');
});

test('the target keeps every byte', ({ expect }) => {
  const found = route('POST', 'http://h/v1/x%20y/?a=%2F&b', JSON_TYPE);
  expect(found.kind === 'infer' && found.target).toBe('/v1/x%20y/?a=%2F&b');
});

test('agrees with the access table on every path that is passed on or refused', ({ expect }) => {
  for (const { path, methods, use } of ACCESS) {
    if (use === 'answered' || methods[0] === 'GET' || path === '/upstream/*') continue;
    const found = route('POST', path.replace('/*', '/anything'), JSON_TYPE);
    expect([path, verdict(found)]).toEqual([path, use === 'refused' ? 'forbidden' : 'model in body']);
  }
});

describe('a WebSocket', () => {
  const cases: [url: string, verdict: string][] = [
    ['/v1/realtime?model=alpha', 'model in query'],
    ['/v1/realtime', 'model_missing'],
    ['/v1/responses', 'websocket_unsupported'],
    ['/v1/responses?model=alpha', 'websocket_unsupported'],
    ['/responses', 'websocket_unsupported'],
    ['/v1/sleep?model=alpha', 'forbidden'],
    ['/v1/models?model=alpha', 'not_found'],
    ['/elsewhere?model=alpha', 'not_found'],
  ];
  test.for(cases)('%s: %s', ([url, expected], { expect }) => {
    expect(verdict(routeUpgrade({ method: 'GET', url, headers: {} }))).toBe(expected);
  });
});
