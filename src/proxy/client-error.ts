import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { renderRefusal, type Rendered } from './envelope.ts';
import { requestId } from './request-id.ts';

/**
 * What cannot be read as HTTP is answered once and closed, since nobody knows where the next request would begin.
 * Returns the status; undefined when the client has left.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): number | undefined {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return undefined;
  }
  const [status, message] = verdict(error);
  writeRaw(socket, { ...renderRefusal({ code: 'invalid_request', message }, 'openai', requestId(undefined)), status });
  // Who ends his side in the middle of a body has most likely left, and is answered in case he has not.
  return error.code === 'HPE_INVALID_EOF_STATE' ? undefined : status;
}

/** Writes an answer where there is no response object, and closes. */
export function writeRaw(socket: Duplex, { status, headers, body }: Rendered): void {
  const all = { connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`, () =>
    socket.destroy(),
  );
}

function verdict(error: NodeJS.ErrnoException): [status: number, message: string] {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'The head of the request is larger than `max_header_bytes`. Send fewer or shorter headers.'];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'The head of the request did not arrive within `header_timeout_secs`.'];
    default:
      return [400, `The request is not valid HTTP: ${error.message}.`];
  }
}
