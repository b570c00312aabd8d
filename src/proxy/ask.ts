import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Entry } from '../access/door.ts';
import { invariant } from '../core/kinds.ts';
import { codingsOf } from './decode.ts';
import type { Refusal } from './envelope.ts';
import { FormScanner } from './form-scan.ts';
import type { Arrival, Gate, Target } from './gate.ts';
import { Intake } from './intake.ts';
import { lookUp, modelMeant } from './meant.ts';
import { ModelScanner } from './model-scan.ts';
import type { NameScanner, Range } from './name-scanner.ts';
import { Withheld, type Body } from './outflow.ts';
import { Rewriter, type Rewrite } from './rewrite.ts';
import type { Named, Route } from './route.ts';
import type { Edit } from './splicer.ts';

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

export type NotAsked = { readonly kind: 'left' } | { readonly kind: 'refused'; readonly refusal: Refusal };

type InferRoute = Extract<Route, { readonly kind: 'infer' }>;

/** Reads one request and finds its model. It must be ended with `done`. */
export class Asking {
  readonly #gate: Gate;
  readonly #call: Call;
  readonly #route: InferRoute;
  readonly #scanner: NameScanner | undefined;
  readonly #nameInQuery: string | undefined;
  #intake: Intake | undefined;
  #target: Target | undefined;
  /** How many pieces have been looked at, and in which of them the model was found. */
  #looks = 0;
  #foundIn = 0;

  constructor(gate: Gate, call: Call, route: InferRoute) {
    this.#gate = gate;
    this.#call = call;
    this.#route = route;
    this.#scanner = scannerFor(route.named, call.req.headers['content-type']);
    this.#nameInQuery = route.named.in === 'path' ? undefined : route.named.query;
  }

  /** How many bytes of the body have come, encoded as they were. */
  get bytes(): number {
    return this.#intake?.bytes ?? 0;
  }

  /** What is wrong is told as soon as it is known, also in the middle of an upload. */
  async read(): Promise<Asked | NotAsked> {
    const { req, res, arrival, expectsContinue } = this.#call;
    const { limits, bodies, clock } = this.#gate;
    const codings = codingsOf(req.headers['content-encoding']);
    if ('code' in codings) return { kind: 'refused', refusal: codings };
    // Where nothing in the body can name the model, it is not waited for.
    const unknown = this.#scanner === undefined ? this.#find(undefined) : undefined;
    if (unknown !== undefined) return { kind: 'refused', refusal: unknown };
    this.#intake = new Intake(req, res, {
      store: bodies,
      maxBytes: limits.maxBodyBytes,
      codings,
      limitMs: limits.bodyMs,
      clock,
      signal: arrival.signal,
      expectsContinue,
      look: (chunk) => this.#look(chunk),
      judge: () => this.#judge(),
    });
    const read = await this.#intake.read();
    switch (read.kind) {
      case 'whole':
        return this.#whole(this.#intake.body);
      case 'refused':
        return { kind: 'refused', refusal: this.#withRetry(read.refusal) };
      case 'left':
        return read;
    }
  }

  /** The body is given up, unless it is being sent: then once it was. */
  done(): void {
    this.#intake?.done();
  }

  #look(chunk: Buffer): Refusal | undefined {
    this.#looks++;
    const scanner = this.#scanner;
    if (scanner === undefined) return undefined;
    scanner.feed(chunk);
    if (scanner.problem !== undefined || scanner.name === undefined) return scanner.problem;
    return this.#target === undefined ? this.#find(scanner.name) : undefined;
  }

  #judge(): Refusal | undefined {
    const scan = this.#scanner?.end();
    if (scan?.kind === 'unreadable') return scan.problem;
    // Which model a name stands for may depend on who is awake, so it is asked again after a long upload.
    if (this.#target !== undefined && this.#foundIn === this.#looks) return undefined;
    return this.#find(this.#scanner?.name);
  }

  #find(inBody: string | undefined): Refusal | undefined {
    const { named } = this.#route;
    const { mayUse } = this.#call.entry.visitor;
    const found =
      named.in === 'path'
        ? lookUp(this.#gate, named.name, mayUse)
        : modelMeant(this.#gate, { inBody, inQuery: this.#nameInQuery }, mayUse);
    if ('code' in found) return found;
    this.#target = found;
    this.#foundIn = this.#looks;
    return undefined;
  }

  /** Room comes when others are served, which the model that is waited for can say more about. */
  #withRetry(refusal: Refusal): Refusal {
    if (refusal.code !== 'body_not_kept' || this.#target === undefined) return refusal;
    return { ...refusal, retryAfterMs: this.#gate.retryAfterMs(this.#target.model) };
  }

  async #whole(body: Body): Promise<Asked | NotAsked> {
    const { named, target: path } = this.#route;
    const target = this.#target;
    invariant(target !== undefined, 'a body passed without a model');
    const scan = this.#scanner?.end();
    const nameInBody = scan?.kind === 'found' ? { name: scan.name, at: scan.at, write: WRITERS[named.in] } : undefined;
    const edits = named.in === 'body' && target.rewrite !== undefined ? await editsFor(target.rewrite, body) : [];
    if ('code' in edits) return { kind: 'refused', refusal: edits };
    const streams = this.#scanner?.stream ?? acceptsEvents(this.#call.req);
    return { kind: 'asked', target, path, nameInQuery: this.#nameInQuery, body, nameInBody, edits, streams };
  }
}

const acceptsEvents = ({ headers }: IncomingMessage): boolean =>
  (headers.accept ?? '').toLowerCase().includes('text/event-stream');

const WRITERS = { body: JSON.stringify, form: String, query: String, path: String };

function scannerFor({ in: place }: Named, contentType: string | undefined): NameScanner | undefined {
  if (place === 'query' || place === 'path') return undefined;
  return place === 'form' ? new FormScanner(contentType ?? '') : new ModelScanner();
}

async function editsFor(rewrite: Rewrite, body: Body): Promise<readonly Edit[] | Refusal> {
  if (body.bytes === 0) return [];
  const rewriter = new Rewriter(rewrite);
  const reading = body.open();
  try {
    for (let next = await reading.next(); next !== undefined; next = await reading.next())
      for (const chunk of next) rewriter.feed(chunk);
  } catch (error) {
    if (error instanceof Withheld) return error.refusal;
    throw error;
  } finally {
    reading.close();
  }
  const edits = rewriter.end();
  if (edits !== 'too-many') return edits;
  return { code: 'invalid_request', message: 'The body has the same parameters over and over. Send each once.' };
}
