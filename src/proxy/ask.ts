import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Entry } from '../access/door.ts';
import { invariant } from '../core/kinds.ts';
import type { Backend } from '../engines/driver.ts';
import { codingsOf } from './decode.ts';
import type { Refusal } from './envelope.ts';
import { FormScanner } from './form-scan.ts';
import type { Arrival, Gate, Target } from './gate.ts';
import { Intake, type Read } from './intake.ts';
import { lookUp, modelMeant } from './meant.ts';
import { ModelScanner } from './model-scan.ts';
import type { NameScanner, Range } from './name-scanner.ts';
import type { Body } from './outflow.ts';
import { PassingBody, type Renaming } from './passing-body.ts';
import { editsFor } from './rewrite-body.ts';
import { Rewriter, type Rewrite } from './rewrite.ts';
import type { Named, Route } from './route.ts';
import type { Edit } from './splicer.ts';
import { thinkingFlaw, thinkingShape } from './thinking.ts';
import { translationIn } from './translation.ts';

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

/** A request whose model is known, and whose body is still on its way. */
export type Coming = { readonly kind: 'coming'; readonly target: Target };

export type NotAsked = { readonly kind: 'left' } | { readonly kind: 'refused'; readonly refusal: Refusal };

/** So much of a body tells how fast it comes. */
const SAMPLE = 65_536;
/** It is to be here in this part of the time that it has, as far as can be foreseen. */
const HURRY = 3;

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
  async read(): Promise<Asked | Coming | NotAsked> {
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
      enough: codings.length === 0 ? this.#enough() : undefined,
    });
    const read = await this.#intake.read();
    if (read.kind === 'enough' && this.#target !== undefined) return { kind: 'coming', target: this.#target };
    return this.#judged(this.#intake, read);
  }

  /** What was coming, once it is here. */
  async rest(): Promise<Asked | NotAsked> {
    const intake = this.#intake;
    invariant(intake !== undefined, 'the rest is asked for of what was not begun');
    return this.#judged(intake, await intake.rest());
  }

  /** Whether what is coming can still be passed on. */
  get passable(): boolean {
    return this.#intake?.divertible === true;
  }

  /** Passes on what is coming, as a body that is sent while it comes. */
  passOn({ servedName }: Backend): Asked {
    const [intake, target] = [this.#intake, this.#target];
    invariant(intake !== undefined && target !== undefined, 'a body is passed on that has not come');
    const { limits, clock } = this.#gate;
    const body = new PassingBody({
      announced: this.#announced,
      renaming: servedName === undefined ? undefined : this.#renaming(servedName),
      limitMs: limits.passOnMs,
      clock,
      drained: () => intake.goOn(),
    });
    intake.divert(body);
    return this.#asked(target, body, { nameInBody: undefined, edits: [] });
  }

  /** The question has been heard, and is not asked again. */
  sent(): void {
    this.#intake?.sent();
  }

  #renaming(text: string): Renaming | undefined {
    const scanner = this.#scanner;
    if (scanner?.name === undefined || scanner.name === text) return undefined;
    return { scanner, text: WRITERS[this.#route.named.in](text) };
  }

  get #announced(): number {
    return Number(this.#call.req.headers['content-length'] ?? 0);
  }

  /**
   * Which bodies need not be here whole to be sent: large ones whose length is known, that nothing but the name is changed in,
   * and that come fast enough to be here soon.
   */
  #enough(): (() => boolean) | undefined {
    const { limits, clock } = this.#gate;
    const announced = this.#announced;
    if (limits.passOnBytes === 0 || announced < limits.passOnBytes) return undefined;
    // These are looked at whole.
    if (this.#route.looks || this.#route.steers !== undefined) return undefined;
    const startedAt = clock.now();
    return () => {
      const { bytes } = this;
      const target = this.#target;
      if (target === undefined || bytes < SAMPLE) return false;
      // What `thinking` says may still be to come.
      const changes = target.rewrite !== undefined || target.translates || target.thinking.modes.length > 1;
      if (changes && this.#route.named.in === 'body') return false;
      const restMs = ((clock.now() - startedAt) / bytes) * (announced - bytes);
      return restMs * HURRY <= limits.passOnMs;
    };
  }

  async #judged(intake: Intake, read: Read): Promise<Asked | NotAsked> {
    switch (read.kind) {
      case 'enough':
      case 'whole':
        return this.#whole(intake.body);
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
    const found = this.#target !== undefined && this.#foundIn === this.#looks;
    const refusal = found ? undefined : this.#find(this.#scanner?.name);
    return refusal ?? (this.#target && thinkingFlaw(this.#thinking, this.#target.thinking));
  }

  /** The word in `thinking`. What Anthropic's clients say there is an object, and the engine's business. */
  get #thinking(): string | undefined {
    return this.#route.dialect === 'openai' ? this.#scanner?.thinking : undefined;
  }

  /** What reads a body for all that is to be changed in it; undefined where nothing is. */
  #rewriter({ rewrite, thinking, translates }: Target): Rewriter | undefined {
    if (this.#route.named.in !== 'body') return undefined;
    const word = this.#thinking;
    const shapes = [
      translates ? translationIn(this.#route.target) : undefined,
      word === undefined ? undefined : thinkingShape(word, thinking),
    ].filter((shape) => shape !== undefined);
    return rewrite === undefined && shapes.length === 0 ? undefined : new Rewriter(rewrite ?? NOTHING, shapes);
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
    const { named } = this.#route;
    const target = this.#target;
    invariant(target !== undefined, 'a body passed without a model');
    const scan = this.#scanner?.end();
    const nameInBody = scan?.kind === 'found' ? { name: scan.name, at: scan.at, write: WRITERS[named.in] } : undefined;
    const rewriter = this.#rewriter(target);
    const edits = rewriter === undefined ? [] : await editsFor(rewriter, body);
    if ('code' in edits) return { kind: 'refused', refusal: edits };
    return this.#asked(target, body, { nameInBody, edits });
  }

  #asked(target: Target, body: Body, changes: Pick<Asked, 'nameInBody' | 'edits'>): Asked {
    const path = this.#route.target;
    const streams = this.#scanner?.stream ?? acceptsEvents(this.#call.req);
    return { kind: 'asked', target, path, nameInQuery: this.#nameInQuery, body, streams, ...changes };
  }
}

const acceptsEvents = ({ headers }: IncomingMessage): boolean =>
  (headers.accept ?? '').toLowerCase().includes('text/event-stream');

const NOTHING: Rewrite = new Map();

const WRITERS = { body: JSON.stringify, form: String, query: String, path: String };

function scannerFor({ in: place }: Named, contentType: string | undefined): NameScanner | undefined {
  if (place === 'query' || place === 'path') return undefined;
  return place === 'form' ? new FormScanner(contentType ?? '') : new ModelScanner();
}
