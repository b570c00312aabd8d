import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Entry } from '../access/door.ts';
import type { MayUse } from '../access/key.ts';
import type { Backend } from '../engines/driver.ts';
import type { Question } from './attempt.ts';
import { edited, readBody, type Body } from './body.ts';
import { codingsOf } from './decode.ts';
import type { Refusal } from './envelope.ts';
import { FormScanner } from './form-scan.ts';
import type { Arrival, Gate, Target } from './gate.ts';
import { headersForEngine } from './headers.ts';
import { ModelScanner } from './model-scan.ts';
import type { NameScanner, Range } from './name-scanner.ts';
import { Rewriter, type Edit } from './rewrite.ts';
import type { Named, Route } from './route.ts';
import { renameInTarget } from './target.ts';

export type Call = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly arrival: Arrival;
  /** Whose it is, and what the door said to him. */
  readonly entry: Entry;
  /** Whether the client waits for a go-ahead before it sends its body. */
  readonly expectsContinue: boolean;
};

/** A request that has been read, and whose model is known. */
export type Asked = {
  readonly kind: 'asked';
  readonly target: Target;
  /** The path and query as the client wrote them, and the name of the model in the query. */
  readonly path: string;
  readonly nameInQuery: string | undefined;
  readonly body: Body;
  /** How many bytes of it came, encoded as they were. */
  readonly bytes: number;
  readonly nameInBody: NameInBody | undefined;
  /** Whether the client asks for a stream of events. */
  readonly streams: boolean;
  /** What the model's rewrite changes in the body, in its order. */
  readonly edits: readonly Edit[];
};

type NameInBody = {
  readonly name: string;
  readonly at: readonly Range[];
  /** How another name is written there. */
  readonly write: (name: string) => string;
};

export type NotAsked =
  | { readonly kind: 'left'; readonly bytes: number }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly bytes: number };

/** Reads a request to its end and finds its model. */
export async function ask(gate: Gate, call: Call, route: Extract<Route, { kind: 'infer' }>): Promise<Asked | NotAsked> {
  const { req, res, arrival, expectsContinue } = call;
  const { mayUse } = call.entry.visitor;
  const codings = codingsOf(req.headers['content-encoding']);
  if ('code' in codings) return { kind: 'refused', refusal: codings, bytes: 0 };
  const scanner = scannerFor(route.named, req.headers['content-type']);
  const read = await readBody(req, res, {
    maxBytes: gate.limits.maxBodyBytes,
    codings,
    limitMs: gate.limits.bodyMs,
    clock: gate.clock,
    signal: arrival.signal,
    expectsContinue,
    look: (chunk) => {
      scanner?.feed(chunk);
      return scanner?.problem;
    },
  });
  if (read.kind !== 'read') return read;
  const { body, bytes } = read;
  const scan = scanner?.end() ?? { kind: 'missing' };
  if (scan.kind === 'unreadable') return { kind: 'refused', refusal: scan.problem, bytes };
  const nameInBody =
    scan.kind === 'found' ? { name: scan.name, at: scan.at, write: WRITERS[route.named.in] } : undefined;
  const nameInQuery = route.named.in === 'path' ? undefined : route.named.query;
  const streams = scanner?.stream ?? acceptsEvents(req);
  const target =
    route.named.in === 'path'
      ? lookUp(gate, route.named.name, mayUse)
      : oneTarget(gate, nameInBody?.name, nameInQuery, mayUse);
  if ('code' in target) return { kind: 'refused', refusal: target, bytes };
  const edits = route.named.in === 'body' ? editsFor(target, body) : [];
  if ('code' in edits) return { kind: 'refused', refusal: edits, bytes };
  return { kind: 'asked', target, path: route.target, nameInQuery, body, bytes, nameInBody, edits, streams };
}

const acceptsEvents = ({ headers }: IncomingMessage): boolean =>
  (headers.accept ?? '').toLowerCase().includes('text/event-stream');

const WRITERS = { body: JSON.stringify, form: String, query: String, path: String };

function scannerFor({ in: place }: Named, contentType: string | undefined): NameScanner | undefined {
  if (place === 'query' || place === 'path') return undefined;
  return place === 'form' ? new FormScanner(contentType ?? '') : new ModelScanner();
}

/** The one model that is meant, or why there is none. */
function oneTarget(
  gate: Gate,
  inBody: string | undefined,
  inQuery: string | undefined,
  mayUse: MayUse | undefined,
): Target | Refusal {
  const name = inBody ?? inQuery;
  if (name === undefined) return standIn(gate, mayUse);
  const target = lookUp(gate, name, mayUse);
  if ('code' in target || inBody === undefined || inQuery === undefined) return target;
  const other = lookUp(gate, inQuery, mayUse);
  if ('code' in other || other.model === target.model) return 'code' in other ? other : target;
  const message = `The body names ${inBody} and the query ${inQuery}. Name one model.`;
  return { code: 'duplicate_model', message, param: 'model' };
}

function editsFor({ rewrite }: Target, { chunks, bytes }: Body): readonly Edit[] | Refusal {
  if (rewrite === undefined || bytes === 0) return [];
  const rewriter = new Rewriter(rewrite);
  for (const chunk of chunks) rewriter.feed(chunk);
  const edits = rewriter.end();
  if (edits !== 'too-many') return edits;
  return { code: 'invalid_request', message: 'The body has the same parameters over and over. Send each once.' };
}

/** The model a name stands for, or why requests do not reach it. */
export function lookUp(gate: Gate, name: string, mayUse: MayUse | undefined): Target | Refusal {
  const target = gate.find(name, mayUse);
  if (target === undefined) {
    const message = `There is no model ${JSON.stringify(name.slice(0, 200))}. GET /v1/models lists the models.`;
    return { code: 'model_not_found', message, param: 'model' };
  }
  return usable(target);
}

/** The model for a request that names none. */
function standIn(gate: Gate, mayUse: MayUse | undefined): Target | Refusal {
  const target = gate.unnamed(mayUse);
  if (typeof target !== 'string') return usable(target);
  const why = target === 'nobody' ? '' : ', and none is awake';
  const message =
    `The request names no model${why}. Put \`model\` in its JSON body, its form or its query. ` +
    'GET /v1/models lists the models.';
  return { code: 'model_missing', message, param: 'model' };
}

function usable(target: Target): Target | Refusal {
  if (target.enabled) return target;
  return { code: 'model_disabled', message: `${target.model} is disabled in the config.`, param: 'model' };
}

/** What the engine is asked: the client's request in the engine's own words, every other byte as it was. */
export function questionFor(call: Call, asked: Asked, backend: Backend): Question {
  const { req, arrival } = call;
  const { servedName } = backend;
  const { nameInQuery, nameInBody } = asked;
  const method = req.method ?? 'GET';
  let { path, edits } = asked;
  if (servedName !== undefined) {
    if (nameInQuery !== undefined && nameInQuery !== servedName) path = renameInTarget(path, servedName);
    if (nameInBody !== undefined && nameInBody.name !== servedName) {
      const text = nameInBody.write(servedName);
      edits = [...edits, ...nameInBody.at.map((at) => ({ ...at, text }))].toSorted((a, b) => a.from - b.from);
    }
  }
  const body = edits.length === 0 ? asked.body : edited(asked.body, edits);
  const hasBody = body.bytes > 0 || method === 'POST' || method === 'PUT' || method === 'PATCH';
  const contentLength = hasBody ? body.bytes : undefined;
  const headers = headersForEngine(req, { id: arrival.id, own: backend.headers, contentLength });
  return { method, path: basePath(backend) + path, headers, body };
}

function basePath({ origin }: Backend): string {
  const { pathname } = new URL(origin);
  return pathname.endsWith('/') ? pathname.slice(0, -1) : pathname;
}
