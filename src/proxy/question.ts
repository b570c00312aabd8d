import type { Backend } from '../engines/driver.ts';
import type { Asked, Call } from './ask.ts';
import type { Question } from './attempt.ts';
import { EditedBody } from './edited.ts';
import { headersForEngine } from './headers.ts';
import { renameInTarget } from './target.ts';

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
  const body = edits.length === 0 ? asked.body : new EditedBody(asked.body, edits);
  const hasBody = body.bytes > 0 || method === 'POST' || method === 'PUT' || method === 'PATCH';
  const contentLength = hasBody ? body.bytes : undefined;
  const headers = headersForEngine(req, { id: arrival.id, own: backend.headers, contentLength });
  return { method, path: basePath(backend) + path, headers, body };
}

function basePath({ origin }: Backend): string {
  const slash = origin.indexOf('/', origin.indexOf('//') + 2);
  return slash === -1 ? '' : origin.slice(slash);
}
