import fc from 'fast-check';
import { test } from 'vitest';
import { routeUpstream } from '../../../src/proxy/route-upstream.ts';
import type { Route } from '../../../src/proxy/route.ts';

const MODELS = ['alpha', 'org', 'org/model', 'org/model:q4', 'a b'];
const ASSETS = [/\.(?:js|css)$/];

const route = (method: string, url: string): Route | undefined =>
  routeUpstream({ method, url, headers: {} }, { isModel: (name) => MODELS.includes(name), assets: ASSETS });

function verdict(found: Route | undefined): string {
  if (found === undefined) return 'not ours';
  if (found.kind === 'moved') return `moved to ${found.to}`;
  if (found.kind === 'refused') return found.refusal.code;
  const name = found.named.in === 'path' ? found.named.name : 'no name';
  return `${found.looks ? 'looks at' : 'asks'} ${name} ${found.target}`;
}

const cases: [method: string, url: string, verdict: string][] = [
  ['GET', '/v1/models', 'not ours'],
  ['GET', '/upstream', 'not ours'],
  ['GET', '/upstream/alpha/', 'asks alpha /'],
  ['GET', '/upstream/alpha', 'moved to /upstream/alpha/'],
  ['POST', '/upstream/alpha?a=1', 'moved to /upstream/alpha/?a=1'],
  ['PATCH', '/upstream/alpha/x/y/?q=%2F&r', 'asks alpha /x/y/?q=%2F&r'],
  ['GET', '/upstream/alpha/files/a%2Fb%20c', 'asks alpha /files/a%2Fb%20c'],
  ['GET', '/upstream/alpha//x', 'asks alpha //x'],
  ['GET', 'http://h:1/upstream/alpha/x', 'asks alpha /x'],
  ['POST', '/upstream/alpha/v1/messages', 'asks alpha /v1/messages'],
  ['GET', '/upstream/org/model/x', 'asks org/model /x'],
  ['GET', '/upstream/org%2Fmodel/x', 'asks org/model /x'],
  ['GET', '/upstream/org%2fmodel%3Aq4/x', 'asks org/model:q4 /x'],
  ['GET', '/upstream/org/other', 'asks org /other'],
  ['GET', '/upstream/org/model', 'moved to /upstream/org/model/'],
  ['GET', '/upstream/a%20b/x', 'asks a b /x'],
  ['GET', '/upstream/nobody/x', 'model_not_found'],
  ['GET', '/upstream/%zz/x', 'model_not_found'],
  ['GET', '/upstream/', 'model_not_found'],
  ['GET', '/upstream/alpha/assets/index.js?v=1', 'looks at alpha /assets/index.js?v=1'],
  ['HEAD', '/upstream/alpha/x.css', 'looks at alpha /x.css'],
  ['POST', '/upstream/alpha/x.css', 'asks alpha /x.css'],
  ['GET', '/upstream/alpha/slots', 'asks alpha /slots'],
  ['POST', '/upstream/alpha/slots/0?action=erase', 'forbidden'],
  ['POST', '/upstream/alpha/props', 'forbidden'],
  ['POST', '/upstream/alpha/sleep', 'forbidden'],
  ['GET', '/upstream/alpha/wake_up', 'forbidden'],
  ['POST', '/upstream/alpha/v1/load_lora_adapter', 'forbidden'],
  ['POST', '/upstream/alpha//sleep', 'forbidden'],
  ['POST', '/upstream/alpha/%2Fsleep', 'forbidden'],
  ['POST', '/upstream/alpha/%73leep/', 'forbidden'],
  ['POST', '/upstream/alpha/v1%2Fsleep', 'forbidden'],
  ['POST', '/upstream/alpha/\\sleep', 'forbidden'],
  ['POST', '/upstream/alpha/x/../sleep', 'invalid_request'],
  ['POST', '/upstream/alpha/x%2f%2e%2e%2fsleep', 'invalid_request'],
  ['GET', '/upstream/alpha/x%00', 'invalid_request'],
  ['GET', '/upstream/alpha/%ff', 'invalid_request'],
  ['TRACE', '/upstream/alpha/x', 'invalid_request'],
];
test.for(cases)('%s %s: %s', ([method, url, expected], { expect }) => {
  expect(verdict(route(method, url))).toBe(expected);
});

test('errors of the Anthropic route are in its dialect', ({ expect }) => {
  expect(route('POST', '/upstream/alpha/v1/messages')?.dialect).toBe('anthropic');
});

test('what follows the model goes on as it is written', ({ expect }) => {
  const segment = fc.string({ unit: fc.constantFrom('a', 'Z', '%2F', '%20', '~', ':', '+', '%41') });
  fc.assert(
    fc.property(fc.array(segment), fc.boolean(), (segments, encoded) => {
      const rest = `x/${segments.join('/')}?q=%2f#`.replace(/#$/, '');
      const model = encoded ? 'org%2Fmodel' : 'org/model';
      expect(verdict(route('PUT', `/upstream/${model}/${rest}`))).toBe(`asks org/model /${rest}`);
    }),
  );
});
