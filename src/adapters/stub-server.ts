import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { unreachable } from '../core/kinds.ts';
import type { StubServer, StubServers, StubSpec, StubState } from '../ports/stub-server.ts';
import {
  readStubRequest,
  STUB_FAULTS,
  stubAnswer,
  stubChunk,
  stubEmbeddings,
  stubError,
  stubModels,
  stubOpening,
  tokensFor,
  type StubFault,
  type StubRequest,
  type StubRoute,
} from './stub-answers.ts';

const NOT_UNDERSTOOD = `the body is no JSON object, or its stub_fault is none of ${STUB_FAULTS.join(', ')}`;

const LARGEST_BODY = 64 * 1_048_576;

/** The built-in engine as a real server. It shares the habits of llama-server that hurt: no keep-alive after a stream, no drain. */
export const stubServers: StubServers = {
  async open(spec) {
    const stub = new Stub(spec);
    await stub.listen();
    return stub;
  },
};

class Stub implements StubServer {
  readonly pid = process.pid;
  readonly #crash = Promise.withResolvers<string>();
  readonly #spec: StubSpec;
  readonly #server: Server;
  #state: StubState = 'loading';
  /** After the fault of that name nothing but the health route answers. */
  #deaf = false;
  #closed: Promise<void> | undefined;

  constructor(spec: StubSpec) {
    this.#spec = spec;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get crashed(): Promise<string> {
    return this.#crash.promise;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  set(state: StubState): void {
    this.#state = state;
  }

  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    return this.#closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const left = new AbortController();
    response.once('close', () => left.abort());
    try {
      await this.#route(request, response, left.signal);
    } catch {
      // The client has left, or we have hung up on it: there is nobody to tell.
      response.destroy();
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse, left: AbortSignal): Promise<void> {
    const path = `${request.method} ${(request.url ?? '').split('?', 1)[0]}`;
    if (this.#state === 'loading') return send(response, 503, stubError(503, 'unavailable_error', 'Loading model'));
    if (path === 'GET /health') return send(response, 200, { status: 'ok' });
    if (this.#deaf) return hang(left);
    if (path === 'GET /v1/models') return send(response, 200, stubModels(this.#spec.model));
    const route = WORK[path];
    if (route === undefined) return send(response, 404, stubError(404, 'not_found_error', `no route ${path}`));
    const text = await bodyOf(request);
    if (text === undefined)
      return send(response, 413, stubError(413, 'invalid_request_error', 'the body is too large'));
    const asked = readStubRequest(text);
    if (asked === undefined) return send(response, 400, stubError(400, 'invalid_request_error', NOT_UNDERSTOOD));
    await this.#work(route, asked, response, left);
  }

  async #work(
    route: StubRoute | 'embedding',
    asked: StubRequest,
    response: ServerResponse,
    left: AbortSignal,
  ): Promise<void> {
    const { model, firstTokenMs } = this.#spec;
    if (this.#state === 'asleep') return send(response, 503, stubError(503, 'unavailable_error', 'the model sleeps'));
    if (asked.model !== undefined && asked.model !== model)
      return send(response, 404, stubError(404, 'not_found_error', `The model \`${asked.model}\` does not exist.`));
    if (await this.#fails(asked.fault, response, left)) return;
    if (route === 'embedding') {
      await pause(firstTokenMs, undefined, { signal: left });
      return send(response, 200, stubEmbeddings(model, asked.inputs));
    }
    if (asked.stream) return this.#stream(route, asked, response, left);
    const said = tokensFor(this.#spec, asked.maxTokens);
    await pause(firstTokenMs + this.#spec.tokenMs * (said.tokens.length - 1), undefined, { signal: left });
    if (asked.fault === 'break') return breakOff(response);
    send(response, 200, stubAnswer(route, model, said));
  }

  /** Whether the request was to go wrong before its answer begins. */
  async #fails(fault: StubFault | undefined, response: ServerResponse, left: AbortSignal): Promise<boolean> {
    switch (fault) {
      case 'error':
        send(response, 500, stubError(500, 'server_error', 'the fault that was asked for'));
        return true;
      case 'reset':
        response.socket?.resetAndDestroy();
        return true;
      case 'crash':
        this.#crash.resolve('went down with the fault that was asked for');
        await this.close();
        return true;
      case 'deaf':
        this.#deaf = true;
        await hang(left);
        return true;
      case 'hang':
        await hang(left);
        return true;
      case 'break':
      case undefined:
        return false;
      default:
        return unreachable(fault);
    }
  }

  async #stream(route: StubRoute, asked: StubRequest, response: ServerResponse, left: AbortSignal): Promise<void> {
    const { model, firstTokenMs, tokenMs } = this.#spec;
    const { tokens, finish } = tokensFor(this.#spec, asked.maxTokens);
    await pause(firstTokenMs, undefined, { signal: left });
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    if (route === 'chat') await write(response, stubOpening(model), left);
    for (const [at, token] of tokens.entries()) {
      if (at > 0 && tokenMs > 0) await pause(tokenMs, undefined, { signal: left });
      if (asked.fault === 'break' && at >= tokens.length / 2) return breakOff(response);
      await write(response, stubChunk(route, model, token, null), left);
    }
    await write(response, stubChunk(route, model, undefined, finish), left);
    const { socket } = response;
    response.end('data: [DONE]\n\n', () => socket?.end());
  }
}

const WORK: Readonly<Record<string, StubRoute | 'embedding'>> = {
  'POST /v1/chat/completions': 'chat',
  'POST /v1/completions': 'completion',
  'POST /v1/embeddings': 'embedding',
};

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

/** Waits for room where the client is slower than we are. */
async function write(response: ServerResponse, text: string, left: AbortSignal): Promise<void> {
  if (!response.write(text)) await once(response, 'drain', { signal: left });
}

/** Half an answer and then the end of the connection. */
function breakOff(response: ServerResponse): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
  response.write('{"id":', () => response.destroy());
}

/** Never answers; ends when the client has left. */
async function hang(left: AbortSignal): Promise<void> {
  if (!left.aborted) await once(left, 'abort');
}

/** Undefined when it is larger than anything a test would send. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > LARGEST_BODY) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}
