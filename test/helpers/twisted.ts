import fc from 'fast-check';

/** A request that says in more than one way, or in an odd one, how long it is. */
export type Twisted = { readonly fields: string; readonly content: string };

/** One with this body, and `hidden` behind it: what would be another request to a reader who ends the body too soon. */
export function twisted(body: string, hidden: string): fc.Arbitrary<Twisted> {
  const length = `Content-Length: ${body.length}\r\n`;
  const size = body.length.toString(16);
  const framing = fc.constantFrom(length, 'Transfer-Encoding: chunked\r\n', '');
  const field = fc.constantFrom(
    length,
    'Content-Length: 0\r\n',
    `content-length:${body.length}\r\n`,
    'Transfer-Encoding: chunked\r\n',
    'transfer-encoding:\tChunked\r\n',
    'Transfer-Encoding: identity\r\n',
    'Transfer_Encoding: chunked\r\n',
    'Connection: Transfer-Encoding, Content-Length\r\n',
    'Connection: keep-alive\r\n',
    'TE: trailers\r\n',
    'Trailer: Content-Length\r\n',
    'X-A: \xe9\r\n',
    'X-A: b\n',
    'X-A: b\rc\r\n',
    ' folded\r\n',
    'Expect: 100-continue\r\n',
    'Upgrade: h2c\r\n',
  );
  const content = fc.constantFrom(
    body,
    `${size}\r\n${body}\r\n0\r\n\r\n`,
    '',
    `${body}${hidden}`,
    `0\r\n\r\n${hidden}`,
    `${size};a="b\r\n"\r\n${body}\r\n0\r\n\r\n`,
    `${size}\r\n${body}\r\n0\r\nContent-Length: 5\r\n\r\n`,
  );
  return fc
    .tuple(framing, fc.array(field, { maxLength: 2 }), content)
    .map(([first, more, text]) => ({ fields: first + more.join(''), content: text }));
}
