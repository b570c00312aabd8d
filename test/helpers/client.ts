import { request, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';

export type Reply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
  /** Whether the answer ended as HTTP says it must; if not, the connection was cut. */
  readonly whole: boolean;
};

export type Asking = {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly agent?: RequestOptions['agent'];
};

/** Asks over a connection of its own and reads the answer to its end, however that comes. */
export function ask(port: number, path: string, asking: Asking = {}): Promise<Reply> {
  const { method = 'POST', headers = {}, body, agent = false } = asking;
  return new Promise((resolve, reject) => {
    const req = request({ host: '127.0.0.1', port, path, method, headers, agent }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', () => {});
      res.once('close', () => {
        const all = Buffer.concat(chunks);
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          rawHeaders: res.rawHeaders,
          body: all,
          text: all.toString(),
          whole: res.complete,
        });
      });
    });
    req.once('error', reject);
    req.end(body);
  });
}

export const chat = (model: string, more: object = {}): string => JSON.stringify({ model, messages: [], ...more });

/** A client that speaks in bytes. */
export class RawClient {
  readonly socket: Socket;
  #text = '';

  constructor(port: number, onTestFinished: (clean: () => void) => void) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.#text += text;
    });
    this.socket.on('error', () => {});
    onTestFinished(() => this.leave());
  }

  /** All it has been told so far. */
  get text(): string {
    return this.#text;
  }

  /** Whether the other side has ended the connection. */
  get closed(): boolean {
    return this.socket.destroyed || this.socket.readableEnded;
  }

  say(text: string): this {
    this.socket.write(text, 'latin1');
    return this;
  }

  post(path: string, body: string): this {
    return this.say(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  leave(): void {
    this.socket.destroy();
  }
}
