import { Hono } from 'hono';
import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../../core/errors.ts';
import type { ControlDeps } from '../deps.ts';
import type { Visited } from '../visitor.ts';
import { ADMIN } from './contract.ts';
import { ROUTES, SCHEMAS, type Route } from './routes.ts';

/** The description of the API, made of the schemas that its answers and the command line are checked with. */
export function openapi({ version }: Pick<ControlDeps, 'version'>): Hono<Visited> {
  const app = new Hono<Visited>();
  app.get(`${ADMIN}/openapi.json`, (c) => c.json(openapiDocument(version)));
  return app;
}

function openapiDocument(version: string) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of ROUTES) paths[route.path] = { ...paths[route.path], [route.method]: operation(route) };
  const schemas = Object.entries(SCHEMAS).map(([name, schema]) => {
    const { $schema: _dialect, ...described } = z.toJSONSchema(schema, {
      io: BODIES.has(name) ? 'input' : 'output',
    });
    return [name, described] as const;
  });
  return {
    openapi: '3.1.0',
    info: {
      title: 'catnap admin API',
      version,
      description: 'Load, unload and inspect models while catnap runs. Nothing here is written to a config file.',
    },
    paths,
    components: { schemas: Object.fromEntries(schemas) },
  };
}

const BODIES: ReadonlySet<string> = new Set(ROUTES.flatMap(({ body }) => body ?? []));

const IN_PATH = [
  { name: 'name', description: 'A model or an alias; slashes may stand as they are.' },
  { name: 'id', description: 'The `x-request-id` of a request; slashes may stand as they are.' },
] as const;

function operation({ method, path, summary, description, query = [], body, answer, accepts, errors = [] }: Route) {
  const inPath = IN_PATH.filter(({ name }) => path.includes(`{${name}}`)).map((known) => ({
    ...known,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = query.map(({ name, type, description: what }) => ({
    name,
    in: 'query',
    required: false,
    description: what,
    schema: { type },
  }));
  const ok = { description: summary, content: contentOf(answer) };
  return {
    operationId: `${method}_${path.replaceAll(/[^a-z]+/g, '_')}`.replace(/_$/, ''),
    summary,
    description: description ?? summary,
    parameters: [...inPath, ...inQuery],
    ...(body !== undefined && {
      requestBody: { required: body !== 'LoadRequest', content: { 'application/json': { schema: refTo(body) } } },
    }),
    responses: {
      200: ok,
      ...(accepts && { 202: ok }),
      ...failures([
        ...errors,
        ...(body === undefined ? [] : (['body_too_large'] as const)),
        'key_missing',
        'invalid_api_key',
        'forbidden',
        'method_not_allowed',
        'internal',
      ]),
    },
  };
}

const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function contentOf(answer: Route['answer']): Record<string, unknown> {
  if (answer === 'application/json') return { [answer]: { schema: { type: 'object' } } };
  if (answer === 'text/plain' || answer === 'text/event-stream') return { [answer]: { schema: { type: 'string' } } };
  return { 'application/json': { schema: refTo(answer) } };
}

/** Codes that share a status are described together. */
function failures(codes: readonly ErrorCode[]): Record<string, unknown> {
  const texts = new Map<number, string[]>();
  for (const code of codes) {
    const { status, meaning } = ERRORS[code];
    texts.set(status, [...(texts.get(status) ?? []), `\`${code}\`: ${meaning}`]);
  }
  const described = [...texts].map(([status, lines]) => [
    String(status),
    { description: lines.join(' '), content: { 'application/json': { schema: refTo('Error') } } },
  ]);
  return Object.fromEntries(described);
}
