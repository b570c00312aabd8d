import type { Refusal } from './envelope.ts';
import { Withheld, type Body } from './outflow.ts';
import { Rewriter, type Rewrite } from './rewrite.ts';
import type { Edit } from './splicer.ts';

/** What a rewrite changes in a body, which is read once for it; or why the request goes no further. */
export async function editsFor(rewrite: Rewrite, body: Body): Promise<readonly Edit[] | Refusal> {
  if (body.bytes === 0) return [];
  const rewriter = new Rewriter(rewrite);
  const reading = body.open();
  try {
    for (let next = await reading.next(); next !== undefined; next = await reading.next())
      for (const chunk of next) rewriter.feed(chunk);
  } catch (error) {
    if (error instanceof Withheld) return error.refusal;
    throw error;
  } finally {
    reading.close();
  }
  const edits = rewriter.end();
  if (edits !== 'too-many') return edits;
  return { code: 'invalid_request', message: 'The body has the same parameters over and over. Send each once.' };
}
