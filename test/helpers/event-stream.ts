import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';

/** Asks a scripted model for a stream of some seconds: it goes on when its script is over. */
export const LONG = { ignore_eos: true, max_tokens: 4_000 };

/** A streamed answer as a client gets it, byte by byte. */
export class EventStream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Resolves when nothing more comes: whether it ended as HTTP says it must, or was cut off. */
  readonly closed: Promise<'whole' | 'cut'>;
  readonly #res: IncomingMessage;
  #body = '';
  #over = false;

  /** Resolves when the answer begins; rejects when there is none, or when the signal says that the client has left. */
  static open(port: number, path: string, body: string, signal?: AbortSignal): Promise<EventStream> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' };
      const options = { host: '127.0.0.1', port, path, method: 'POST', headers, agent: false as const };
      const req = request(signal === undefined ? options : { ...options, signal }, (res) => {
        resolve(new EventStream(res));
      });
      req.on('error', reject);
      req.end(body);
    });
  }

  private constructor(res: IncomingMessage) {
    this.#res = res;
    this.status = res.statusCode ?? 0;
    this.headers = res.headers;
    res.setEncoding('utf8');
    res.on('data', (text: string) => {
      this.#body += text;
    });
    // A cut is told by how it closes.
    res.on('error', () => {});
    this.closed = new Promise((resolve) => {
      res.once('close', () => {
        this.#over = true;
        resolve(res.complete ? 'whole' : 'cut');
      });
    });
  }

  /** All that has come so far. */
  get body(): string {
    return this.#body;
  }

  get over(): boolean {
    return this.#over;
  }

  /** The text of the model so far. */
  get said(): string {
    return textOf(this.#body);
  }

  /** Resolves at the first word of the model, before any more of it is read. */
  async begun(): Promise<this> {
    while (this.said === '') {
      if (this.#over) throw new Error(`it ended before the first word: ${this.#body}`);
      await Promise.race([once(this.#res, 'data'), this.closed]);
    }
    return this;
  }

  /** The client leaves. */
  leave(): void {
    this.#res.destroy();
  }
}

type Chunk = {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly error?: { readonly code: string; readonly message: string };
};

/** The data of every whole event, `[DONE]` left out. */
function eventsOf(body: string): Chunk[] {
  const events = body.split('\n\n').slice(0, -1);
  return events.flatMap((event) => {
    const data = /^data: (.*)$/m.exec(event)?.[1];
    return data === undefined || data === '[DONE]' ? [] : [JSON.parse(data)];
  });
}

/** What the model says in the events of a chat. */
export const textOf = (body: string): string =>
  eventsOf(body)
    .map((chunk) => chunk.choices?.[0]?.delta?.content ?? '')
    .join('');

/** The error that a stream ended with. */
export const errorIn = (body: string): Chunk['error'] => eventsOf(body).at(-1)?.error;
