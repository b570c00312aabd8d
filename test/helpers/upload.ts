import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** A body in parts, which many bodies can share. */
export type Parts = readonly Buffer[];

/** A chat of so many bytes for this model. Its name comes last, as the usual clients write it. */
export function largeChat(model: string, mark: string, image: Buffer): Parts {
  return [Buffer.from(`{"messages":[{"content":"${mark}`), image, Buffer.from(`"}],"model":"${model}"}`)];
}

/** What `test/fixtures/digest-engine.ts` answers to it. */
export function proofOf(parts: Parts): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return `${sizeOf(parts)} ${hash.digest('hex')}`;
}

const sizeOf = (parts: Parts): number => parts.reduce((sum, { length }) => sum + length, 0);

export type Answered = {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
};

/** Sends it over a connection of its own, no faster than it is taken. */
export function upload(port: number, parts: Parts, signal?: AbortSignal): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': sizeOf(parts) };
    const options = { host: '127.0.0.1', port, path: '/v1/chat/completions', method: 'POST', headers, agent: false };
    const req = request({ ...options, ...(signal && { signal }) }, (res) => {
      text(res).then((all) => resolve({ status: res.statusCode ?? 0, text: all, headers: res.headers }), reject);
    });
    req.once('error', reject);
    const send = (at: number): void => {
      const part = parts[at];
      if (part === undefined) req.end();
      else req.write(part, () => send(at + 1));
    };
    send(0);
  });
}
