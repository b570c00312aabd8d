import type { IncomingHttpHeaders } from 'node:http';

/** Everything in a request that may be a key: a bearer token, a Basic password, `x-api-key`. Bounded by the size of a head. */
export function tokensOf(headers: IncomingHttpHeaders): readonly string[] {
  const tokens = [];
  const { authorization, 'x-api-key': apiKey } = headers;
  if (authorization !== undefined) {
    const token = bearer(authorization) ?? password(authorization);
    if (token !== undefined && token !== '') tokens.push(token);
  }
  if (typeof apiKey === 'string' && apiKey !== '' && apiKey !== tokens[0]) tokens.push(apiKey);
  return tokens;
}

const bearer = (text: string): string | undefined => /^bearer +(\S+) *$/i.exec(text)?.[1];

/** The name of the user is nobody's business: the key tells who it is. */
function password(text: string): string | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(text) ?? [];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString();
  const colon = pair.indexOf(':');
  return colon === -1 ? undefined : pair.slice(colon + 1);
}
