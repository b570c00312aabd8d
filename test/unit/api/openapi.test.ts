import { Validator } from '@cfworker/json-schema';
import { describe, test } from 'vitest';
import { z } from 'zod';
import { readLoadBody } from '../../../src/api/admin/constraints/schema.ts';
import { ROUTES, type Route } from '../../../src/api/admin/routes.ts';
import { controlPlane } from '../../../src/api/plane.ts';
import { ERRORS } from '../../../src/core/errors.ts';
import { listen } from './listener.ts';
import { alpha, beta, deps, model, phases, stage } from './scene.ts';

const Document = z.looseObject({
  openapi: z.string(),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        description: z.string().min(1),
        responses: z.record(
          z.string(),
          z.looseObject({
            content: z.record(z.string(), z.looseObject({ schema: z.record(z.string(), z.unknown()) })),
          }),
        ),
      }),
    ),
  ),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});

const view = () => stage([model(alpha, phases.awake), model(beta, phases.failed)]);

async function described() {
  await using server = await listen(controlPlane(deps(view).deps));
  const { status, body } = await server.ask('/v1/admin/openapi.json');
  if (status !== 200) throw new Error(`${status}: ${body}`);
  return Document.parse(JSON.parse(body));
}

/** A body that the route takes. */
const bodyFor = ({ body }: Route): string => {
  if (body === undefined || body === 'LoadRequest') return '';
  return body === 'ModeBody' ? '{"mode":"auto"}' : '{"model":"alpha"}';
};

describe('every path of the API', () => {
  for (const route of ROUTES) {
    const { method, path, answer } = route;
    test(`${method} ${path} is described, and answers as described`, async ({ expect }) => {
      const document = await described();
      const operation = document.paths[path]?.[method];
      const content = Object.entries(operation?.responses['200']?.content ?? {});
      expect(content).toHaveLength(1);
      if (answer === 'text/event-stream') return;
      await using server = await listen(controlPlane(deps(view).deps));
      const at = path.replace('{name}', 'alpha').replace('{id}', 'r-1');
      const told = await server.ask(at, { method: method.toUpperCase(), body: bodyFor(route) });
      expect(told.status).toBe(200);
      const [[type, { schema }] = ['', { schema: {} }]] = content;
      expect(told.headers['content-type']).toContain(type);
      if (type !== 'application/json') return;
      const components = JSON.parse(JSON.stringify(document.components));
      const validator = new Validator({ ...schema, components }, '2020-12', false);
      expect(validator.validate(JSON.parse(told.body)).errors).toEqual([]);
    });
  }
});

test('a load body is described as it is read', async ({ expect }) => {
  const document = await described();
  const schema = {
    $ref: '#/components/schemas/LoadRequest',
    components: JSON.parse(JSON.stringify(document.components)),
  };
  const validator = new Validator(schema, '2020-12', false);
  for (const body of [
    {},
    { replicas: 2 },
    { replicas: null, gguf_n_ctx: 8192, gguf_type_k: null },
    { llama_server_spec_draft_p_min: 0, vllm_kv_cache_dtype: 'fp8' },
    { replicas: 0 },
    { replicas: '2' },
    { gguf_n_ctx: 0 },
    { gguf_n_ctx: 1.5 },
    { exllama_cache_quant: '' },
    { llama_server_spec_draft_p_min: -0.5 },
    { vllm_speculative_method: 7 },
    { gguf_nctx: 1 },
  ]) {
    const isRead = readLoadBody(JSON.stringify(body)).kind === 'read';
    expect([body, validator.validate(body).valid]).toEqual([body, isRead]);
  }
});

test('errors answer as described', async ({ expect }) => {
  const document = await described();
  const schema = { $ref: '#/components/schemas/Error', components: JSON.parse(JSON.stringify(document.components)) };
  const validator = new Validator(schema, '2020-12', false);
  await using server = await listen(controlPlane(deps(view).deps));
  for (const [path, body] of [
    ['/v1/admin/models/nobody/load', ''],
    ['/v1/admin/models/alpha/load', '{"replicas":0}'],
    ['/v1/admin/models/alpha/load', '{"gguf_n_ctx":1}'],
    ['/control/mode', '{}'],
  ] as const) {
    const told = await server.ask(path, { method: 'POST', body });
    expect(told.status).toBeGreaterThanOrEqual(400);
    expect(validator.validate(JSON.parse(told.body)).errors).toEqual([]);
  }
});

test('each error a path may give is one there is', ({ expect }) => {
  for (const { path, errors = [] } of ROUTES)
    for (const code of errors) expect([path, code in ERRORS]).toEqual([path, true]);
});
