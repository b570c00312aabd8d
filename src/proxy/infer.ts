import { ERRORS } from '../core/errors.ts';
import { invariant } from '../core/kinds.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Place } from '../core/place.ts';
import type { TicketTerms } from '../core/stage-events.ts';
import type { RequestSight } from '../ports/open-requests.ts';
import { Cut, type Lease } from '../runtime/admission.ts';
import { admit, type Back } from './admit.ts';
import { Answer } from './answer.ts';
import { Asking, type Asked, type Call } from './ask.ts';
import { OUR_BUG, renderRefusal, type Refusal } from './envelope.ts';
import { isHarmlessCall } from './engine-control.ts';
import { forward, type Ending } from './forward.ts';
import type { Gate } from './gate.ts';
import { serverTiming } from './headers.ts';
import type { Pools } from './pools.ts';
import { questionFor } from './question.ts';
import { CLIENT_LEFT, newTally, pathOf, report, sightOf, tellAct, Unreadable, type Begun, type End } from './record.ts';
import { CANCELLATION, CANCELLED, type OpenRequest } from './request-book.ts';
import { refuse } from './refuse.ts';
import { isRepeatable } from './repeatable.ts';
import { routeUpstream } from './route-upstream.ts';
import { routeRequest, type Route } from './route.ts';
import { silenceOf } from './silence.ts';
import { WaitComments } from './wait-comments.ts';
import { nextOf, wishesOf } from './wishes.ts';

/** One inference request from its head to its record: route, read, admit, forward, settle. Never rejects. */
export function infer(gate: Gate, pools: Pools, call: Call): Promise<void> {
  return new Inference(gate, pools, call).live();
}

/** Putting engines away and waking them is the stage's. */
const NOT_THIS_CALL: Refusal = {
  code: 'forbidden',
  message: 'A remote call must name one method, and none that puts weights away or brings them back.',
};

/** Keeps the method, and nobody remembers it. */
const MOVED = 307;

/** A request that goes back into line with its client told nothing of an answer. */
type Again = { readonly outcome: 'returned'; readonly place: Place };

/** A client that is told nothing while it waits is answered before it gives up. */
type Wait = { readonly withinMs?: number | undefined; readonly comments?: WaitComments };

class Inference implements OpenRequest {
  readonly #gate: Gate;
  readonly #pools: Pools;
  readonly #call: Call;
  readonly #route: Route;
  readonly #tally = newTally();
  readonly #answer: Answer;
  #asking: Asking | undefined;
  /** Told to whoever ends it from outside. */
  #ended: PromiseWithResolvers<Outcome> | undefined;
  /** How often it has gone back into line, and for how long it had waited before. */
  #returns = 0;
  #waitedMs = 0;
  #announced = false;
  #standing: WaitComments | undefined;

  constructor(gate: Gate, pools: Pools, call: Call) {
    const { method = '', url = '', headers } = call.req;
    this.#gate = gate;
    this.#pools = pools;
    this.#call = call;
    const head = { method, url, headers };
    const { assets } = gate;
    const { visitor } = call.entry;
    const { mayUse } = visitor;
    for (const [name, value] of Object.entries(visitor.limits())) call.res.setHeader(name, value);
    this.#route =
      routeUpstream(head, {
        assets,
        isModel: (name) => gate.find(name, mayUse) !== undefined,
        maySteer: () => visitor.maySteer(),
      }) ?? routeRequest(head);
    const { clock, limits } = gate;
    const { dialect } = this.#route;
    this.#answer = new Answer(call.res, { id: call.arrival.id, dialect, clock, slowReaderMs: limits.slowReaderMs });
  }

  async live(): Promise<void> {
    const { arrival } = this.#call;
    const number = this.#gate.requests.add(this);
    let end: End;
    try {
      end = await this.#asMuchAsAllowed();
    } catch (error) {
      end = this.#tell(OUR_BUG, 'failed');
      this.#gate.bug(error);
    }
    const { reason } = arrival.signal;
    if (reason instanceof Unreadable) end = { outcome: 'rejected', status: reason.status, code: 'invalid_request' };
    this.#count();
    this.#asking?.done();
    if (this.#route.kind === 'infer' && this.#route.steers !== undefined) tellAct(this.#gate, this.#call, end.status);
    this.#gate.requests.remove(number);
    report(this.#gate, this.#begun, this.#tally, end);
    this.#ended?.resolve(end.outcome);
  }

  sight(number: number): RequestSight {
    this.#count();
    return { number, ...sightOf(this.#gate, this.#call, this.#begun, this.#tally) };
  }

  cancel(): Promise<Outcome> {
    this.#ended ??= Promise.withResolvers();
    this.#call.arrival.leave(CANCELLATION);
    return this.#ended.promise;
  }

  get #begun(): Begun {
    const { req, arrival, entry } = this.#call;
    const { id, at } = arrival;
    return { id, at, method: req.method ?? '', path: pathOf(req.url), key: entry.visitor.name };
  }

  #count(): void {
    const tally = this.#tally;
    tally.bytesIn = this.#asking?.bytes ?? 0;
    tally.bytesOut = this.#answer.bytes;
    tally.chunksOut = this.#answer.chunks;
    if (this.#answer.begun && tally.leg !== 'suspended') tally.leg = 'streaming';
  }

  get #wishes(): TicketTerms | Refusal {
    const { req, entry } = this.#call;
    return wishesOf(req.headers, this.#gate.limits.maxPriority, entry.visitor.waiting);
  }

  /** Lets in whom the door lets in, as long as he has not too much open already. */
  async #asMuchAsAllowed(): Promise<End> {
    const { denial, visitor } = this.#call.entry;
    if (denial !== undefined) return this.#tell(denial, 'rejected');
    const done = visitor.begin();
    if (typeof done !== 'function') return this.#tell(done, 'rejected');
    try {
      return await this.#respond();
    } finally {
      done();
    }
  }

  async #respond(): Promise<End> {
    if (this.#route.kind === 'refused') return this.#tell(this.#route.refusal, 'rejected');
    if (this.#route.kind === 'moved') return this.#move(this.#route.to);

    const asking = new Asking(this.#gate, this.#call, this.#route);
    this.#asking = asking;
    let asked = await asking.read();
    if (asked.kind === 'coming') {
      this.#tally.model = asked.target.model;
      this.#announceNext();
      // Wishes that cannot be read are refused when it takes its turn.
      const wishes = this.#wishes;
      const now = !('code' in wishes) && asking.passable;
      const lease = now ? this.#gate.admission.acquireNow(asked.target.model, wishes) : undefined;
      if (lease !== undefined) return this.#once(lease, () => asking.passOn(lease.backend));
      asked = await asking.rest();
    }
    if (asked.kind === 'left') return this.#left();
    if (asked.kind === 'refused') return this.#tell(asked.refusal, 'rejected');
    this.#announceNext();

    this.#tally.model = asked.target.model;
    if (this.#route.steers === 'checked' && !isHarmlessCall(asked.body)) return this.#tell(NOT_THIS_CALL, 'rejected');
    if (this.#route.looks) return this.#look(asked);
    const silence = silenceOf(this.#call.req.headers);
    const { clock } = this.#gate;
    const from = clock.now();
    let back: Back | undefined;
    for (;;) {
      const comments = asked.streams ? this.#comments(asked, silence) : undefined;
      try {
        const end = await this.#takeTurn(asked, comments === undefined ? { withinMs: silence } : { comments }, back);
        if (end.outcome !== 'returned') return end;
        back = { place: end.place, sinceMs: clock.now() - from };
      } finally {
        comments?.stop();
      }
    }
  }

  /** Once, however the request comes in. It is a hint: nobody is told what becomes of it. */
  #announceNext(): void {
    const { req, entry } = this.#call;
    const next = nextOf(req.headers);
    if (next === undefined || this.#announced) return;
    this.#announced = true;
    this.#gate.announce(next, entry.visitor.mayUse);
  }

  /** Served by an engine that is awake, beside those who wait for their turn. */
  async #look(asked: Asked): Promise<End> {
    const { model } = asked.target;
    const glance = this.#gate.admission.glance(model);
    if (glance !== undefined) return this.#endOf(await this.#ask(asked, glance));
    const message = `${model} is not awake, and this path does not wake it. Ask it for something else first.`;
    return this.#tell({ code: 'model_not_loaded', message }, 'rejected');
  }

  #move(to: string): End {
    const { req, res, arrival } = this.#call;
    const headers = { location: to, 'x-request-id': arrival.id, 'content-length': '0' };
    refuse(req, res, { status: MOVED, headers, body: '' }, this.#gate.clock);
    return { outcome: 'rejected', status: MOVED };
  }

  /** While its engine is away with it, a client of a stream is kept company. */
  #stand(asked: Asked, still: boolean): void {
    this.#standing?.stop();
    this.#standing =
      still && asked.streams ? this.#comments(asked, silenceOf(this.#call.req.headers), true) : undefined;
    this.#tally.leg = still ? 'suspended' : 'granted';
  }

  #comments({ target }: Asked, silence: number | undefined, amid = false): WaitComments | undefined {
    const { clock, limits, progress } = this.#gate;
    if (limits.commentAfterMs === Number.POSITIVE_INFINITY) return undefined;
    return new WaitComments(this.#answer, {
      clock,
      limits,
      silence,
      amid,
      says: () => progress(target.model, this.#call.entry.visitor.mayUse),
    });
  }

  async #takeTurn(asked: Asked, { withinMs, comments }: Wait, back: Back | undefined): Promise<End | Again> {
    const { clock } = this.#gate;
    const { model } = asked.target;
    const waitedFrom = clock.now();
    this.#tally.leg = 'waiting';
    this.#tally.waitsFrom = waitedFrom;
    const { arrival, entry } = this.#call;
    const { signal } = arrival;
    const { mayUse } = entry.visitor;
    const admitted = await admit(this.#gate, model, { signal, withinMs, wishes: this.#wishes, mayUse, back });
    this.#tally.queuedMs = this.#waitedMs + clock.now() - waitedFrom;
    if (admitted.kind === 'left') return this.#left();
    if (admitted.kind === 'refused') return this.#tell(admitted.refusal, admitted.outcome);

    // From now on the engine speaks for itself, unless it was spoken for already.
    if (!this.#answer.opened) comments?.stop();
    return this.#serveAndSettle(
      admitted.lease,
      (ending) => this.#placeAgain(asked, admitted.lease, ending),
      () => asked,
    );
  }

  /** What is passed on while it comes cannot be asked again. */
  async #once(lease: Lease, asked: () => Asked): Promise<End> {
    const end = await this.#serveAndSettle(lease, () => undefined, asked);
    invariant(end.outcome !== 'returned', 'a body goes back that is not kept');
    return end;
  }

  async #serveAndSettle(
    lease: Lease,
    placeAgain: (ending: Ending) => Place | undefined,
    asked: () => Asked,
  ): Promise<End | Again> {
    let outcome: Outcome = 'failed';
    try {
      const ending = await this.#ask(asked(), lease);
      const place = placeAgain(ending);
      if (place !== undefined) return { outcome: 'returned', place };
      const end = this.#endOf(ending);
      outcome = end.outcome;
      return end;
    } finally {
      lease.settle(outcome);
    }
  }

  /**
   * Where it stands in line once more, instead of being told that a drain has cut it: if not a byte of its answer has come, its body is still here,
   * asking it twice is the same as asking it once, and it has not been back too often. Nobody is put away for a request that forbids it.
   */
  #placeAgain({ body, path }: Asked, { cut, place }: Lease, ending: Ending): Place | undefined {
    const { limits } = this.#gate;
    const { req } = this.#call;
    if (ending.kind !== 'refused' || ending.refusal.code !== 'drained') return undefined;
    if (!(cut.reason instanceof Cut) || !cut.reason.mayReturn || body.once) return undefined;
    if (this.#returns >= limits.drainReplays || !isRepeatable(req.method ?? '', path)) return undefined;
    const wishes = this.#wishes;
    if ('code' in wishes || wishes.bound === true) return undefined;
    this.#returns++;
    this.#waitedMs = this.#tally.queuedMs;
    return place;
  }

  async #ask(asked: Asked, lease: Lease): Promise<Ending> {
    const { clock, retryAfterMs } = this.#gate;
    const { id, signal } = this.#call.arrival;
    const answer = this.#answer;
    this.#tally.leg = 'granted';
    this.#tally.queuedMs = this.#waitedMs + lease.queuedMs;
    const ending = await forward({
      id,
      lease,
      pool: this.#pools.of(lease.backend),
      question: questionFor(this.#call, asked, lease.backend),
      answer,
      clock,
      responseMs: asked.target.responseMs,
      idleMs: asked.target.idleMs,
      totalMs: asked.target.totalMs,
      retryAfterMs: retryAfterMs(lease.model),
      stands: (still) => this.#stand(asked, still),
      begun: () => this.#asking?.sent(),
      signal,
    });
    return ending;
  }

  #endOf(ending: Ending): End {
    switch (ending.kind) {
      case 'complete':
        return { outcome: 'served', ...ending.head };
      case 'client-left':
        return { outcome: 'aborted', ...ending.head, status: CLIENT_LEFT };
      case 'broken':
        return { outcome: ending.code === CANCELLED.code ? 'cancelled' : 'broken', ...ending.head, code: ending.code };
      case 'refused':
        return this.#tell(ending.refusal, outcomeOf(ending.refusal));
    }
  }

  /** Before an engine had it: the client left, or the request was ended for it. */
  #left(): End {
    if (this.#call.arrival.signal.reason === CANCELLATION) return this.#tell(CANCELLED, 'cancelled');
    return { outcome: 'abandoned', status: CLIENT_LEFT };
  }

  /** Answers in place of an engine. A stream that has begun is told by an event. */
  #tell(refusal: Refusal, outcome: Outcome): End {
    if (this.#answer.opened) {
      this.#answer.breakOff(refusal);
      return { outcome, status: 200, code: refusal.code };
    }
    const { req, res, arrival } = this.#call;
    const rendered = renderRefusal(refusal, this.#route.dialect, arrival.id);
    const timing = serverTiming({ queueMs: this.#tally.queuedMs, swapMs: 0, engineMs: 0 });
    const headers = { ...rendered.headers, 'server-timing': timing };
    refuse(req, res, { ...rendered, headers }, this.#gate.clock);
    return { outcome, status: ERRORS[refusal.code].status, code: refusal.code };
  }
}

/** What is wrong with a body may be found while it is passed on. */
function outcomeOf({ code }: Refusal): Outcome {
  if (code === CANCELLED.code) return 'cancelled';
  return ERRORS[code].fault === 'client' ? 'rejected' : 'failed';
}
