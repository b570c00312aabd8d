import { anthropicType, renderErrorEvent, type Dialect } from './envelope.ts';

/** Errors are short; what is longer is not worth keeping. */
const MOST_BYTES = 65_536;
const MOST_QUOTED = 300;

/** An engine's answer that no longer fits, since the client was promised a stream while it waited. It is told as an error event. */
export class Misfit {
  readonly #status: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(status: number) {
    this.#status = status;
  }

  add(chunk: Buffer): void {
    if (this.#bytes < MOST_BYTES) this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /** The engine's own error where it gave one, in one line; else ours. */
  event(dialect: Dialect, id: string): string {
    const text = this.#bytes > MOST_BYTES ? '' : Buffer.concat(this.#chunks).toString();
    const error = this.#status < 400 ? undefined : errorIn(text);
    if (error === undefined) {
      const message = `The engine answered ${this.#status} and no stream: ${text.slice(0, MOST_QUOTED)}`;
      return renderErrorEvent({ code: 'engine_misfit', message }, dialect, id);
    }
    if (dialect === 'openai') return `data: ${JSON.stringify({ error })}\n\n`;
    const type = anthropicType(this.#status);
    return `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type, ...error }, request_id: id })}\n\n`;
  }
}

/** What an engine's JSON gives as its error. Some say only what is wrong, without any shape. */
function errorIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('error' in value)) return undefined;
    const { error } = value;
    if (typeof error === 'string') return { message: error };
    return typeof error === 'object' && error !== null ? error : undefined;
  } catch {
    return undefined;
  }
}
