import fc from 'fast-check';
import { test } from 'vitest';
import { ROUTES } from '../../../src/api/admin/routes.ts';
import { controlPlane } from '../../../src/api/plane.ts';
import { ERRORS } from '../../../src/core/errors.ts';
import { listen } from './listener.ts';
import { alpha, beta, deps, model, phases, stage } from './scene.ts';

const PATHS = [...new Set(ROUTES.map(({ path }) => path))];
const METHODS = ['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS'];
const KEYS = [
  'replicas',
  'gguf_n_ctx',
  'gguf_type_k',
  'vllm_max_model_len',
  'llama_server_n_ctx',
  'exllama_cache_k_bits',
  'model',
  'level',
  'mode',
  '__proto__',
  'constructor',
  'toString',
];

/** What is put where a name or an id belongs. */
const word = fc.oneof(
  fc.constantFrom('alpha', 'gpt-4o', 'org/beta', 'org%2Fbeta', 'nobody', '__proto__', 'constructor', '%', '%ff', '..'),
  fc.constantFrom('', '/', '//', 'alpha/', 'alpha/load', '%00', '%2e%2e', 'a'.repeat(3_000), '%E2%82%AC'),
  fc.string({ maxLength: 20 }).map(encodeURIComponent),
);
const query = fc.oneof(
  fc.constant(''),
  fc
    .array(
      fc.tuple(
        fc.constantFrom(
          'wait',
          'timeout_s',
          'level',
          'hold',
          'cancel',
          'limit',
          'after',
          'model',
          'phase',
          'lines',
          'x',
        ),
        fc.oneof(fc.constantFrom('true', 'false', '0', '-1', '1e309', 'NaN', 'null', '[]', '%'), word),
      ),
      { maxLength: 4 },
    )
    .map((pairs) => `?${pairs.map(([key, value]) => `${key}=${value}`).join('&')}`),
);
const json = fc.dictionary(fc.constantFrom(...KEYS), fc.jsonValue({ maxDepth: 2 }), {
  maxKeys: 4,
  noNullPrototype: true,
});
const body = fc.oneof(
  fc.constantFrom(
    '',
    '{}',
    'null',
    '[]',
    '{',
    '{"model":"alpha"}',
    '{"mode":"auto"}',
    '{"a":1}{}',
    '\u0000',
    '"x"',
    '1e999',
  ),
  json.map((value) => JSON.stringify(value)),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.string({ maxLength: 200 }),
  fc.constant(`{"replicas":${'9'.repeat(400)}}`),
  fc.constant('['.repeat(5_000)),
  fc.constant(`{"x":"${'x'.repeat(70_000)}"}`),
);
const request = fc.record({
  method: fc.constantFrom(...METHODS),
  path: fc.tuple(fc.constantFrom(...PATHS), word).map(([path, name]) => path.replace(/\{\w+\}/, () => name)),
  query,
  body,
  type: fc.constantFrom('application/json', 'text/plain', 'multipart/form-data', ''),
});

const KNOWN = new Set<number>([200, 202, 204, ...Object.values(ERRORS).map(({ status }) => status)]);

test(
  'whatever is asked of any path, it is answered, and never as a bug of ours',
  { timeout: 60_000 },
  async ({ expect }) => {
    const view = () => stage([model(alpha, phases.off), model(beta, phases.failed)]);
    const { deps: all, bugs } = deps(view);
    await using server = await listen(controlPlane(all));
    const told = new Set<number>();
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, query: asked, body: sent, type }) => {
        // A stream does not end by itself, and there is nothing else to break in it.
        if (path.endsWith('/events') || asked.includes('follow')) return;
        const hasBody = method !== 'GET' && method !== 'HEAD';
        const target = `${path}${asked}`.replaceAll(/[^\x21-\x7e]/g, '_');
        const headers = { 'content-type': type, ...(hasBody && { 'content-length': String(Buffer.byteLength(sent)) }) };
        const answer = await server.ask(target, { method, headers, ...(hasBody && { body: sent }) });
        told.add(answer.status);
        expect([target, answer.status]).not.toEqual([target, 500]);
        expect([target, KNOWN.has(answer.status) || answer.status === 418]).toEqual([target, true]);
        if (answer.status >= 400 && answer.status !== 418 && method !== 'HEAD' && answer.body.startsWith('{')) {
          expect(JSON.parse(answer.body)).toMatchObject({ error: { code: answer.headers['x-catnap-error'] } });
        }
      }),
      // What chance seldom finds: a body that is read and does not fit.
      {
        numRuns: 600,
        examples: [
          [{ method: 'POST', path: '/v1/admin/models/alpha/load', query: '', body: '{"replicas":"x"}', type: '' }],
        ],
      },
    );
    expect(bugs).toEqual([]);
    // It reached more than the doorstep.
    for (const status of [200, 400, 404, 405, 422]) expect([...told]).toContain(status);
  },
);
