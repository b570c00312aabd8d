import type { Context } from 'hono';

/** Far more than any body of the control planes has. */
const LONGEST = 65_536;

/** The body as text, whatever its Content-Type says; undefined when it is longer than any could be. */
export async function bodyText(c: Context): Promise<string | undefined> {
  const stream = c.req.raw.body;
  if (stream === null) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.byteLength;
    if (bytes > LONGEST) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
