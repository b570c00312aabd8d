import { describe, test } from 'vitest';
import { ACCESS, accessTo } from '../../../src/config/access.ts';
import { routeUpstream } from '../../../src/proxy/route-upstream.ts';
import { routeRequest } from '../../../src/proxy/route.ts';

test.for([
  ['/health', 'open'],
  ['/readyz', 'open'],
  ['/metrics', 'open'],
  ['/v1/models', 'infer'],
  ['/v1/models/Qwen/Qwen3-14B', 'infer'],
  ['/v1/chat/completions', 'infer'],
  ['/v1/something/new', 'infer'],
  ['/completion', 'infer'],
  ['/v1/admin/models', 'admin'],
  ['/v1/admin', 'admin'],
  ['/sleep', 'admin'],
  ['/v1/sleep', 'admin'],
  ['/slots/0', 'admin'],
  ['/collective_rpc', 'admin'],
] as const)('%s is for %s', ([path, access], { expect }) => {
  expect(accessTo(path)?.access).toBe(access);
});

test.for(['/', '/nothing', '/v1administrator', '/healthy', '/completion/x'])(
  'there is nothing at %s',
  (path, { expect }) => {
    expect(accessTo(path)).toBeUndefined();
  },
);

describe('the data plane does what the table says', () => {
  const sample = (path: string): string => path.replace('/*', '/x').replace('{id}', 'x');
  const ask = (method: string, url: string): string => {
    const head = { method, url, headers: { 'content-type': 'application/json' } };
    const route = routeUpstream(head, { isModel: (name) => name === 'x', assets: [] }) ?? routeRequest(head);
    if (route.kind === 'moved') return `moved to ${route.to}`;
    return route.kind === 'infer' ? 'passed on' : route.refusal.code;
  };

  test.for(ACCESS)('$path is $use', ({ path, methods, use }, { expect }) => {
    const expected = { 'passed on': 'passed on', refused: 'forbidden', answered: 'not_found' }[use];
    const method = use === 'passed on' && methods[0] === 'GET' ? 'GET' : 'POST';
    const url = `${sample(path)}${method === 'GET' ? '?model=x' : path === '/upstream/*' ? '/' : ''}`;
    expect(ask(method, url)).toBe(expected);
    if (use === 'refused') expect(ask(method, `/v1${url}`)).toBe(expected);
  });
});
