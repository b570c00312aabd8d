import type { Refusal } from './envelope.ts';
import { Withheld, type Body } from './outflow.ts';
import type { Rewriter } from './rewrite.ts';
import type { Edit } from './splicer.ts';

/** What a rewriter changes in a body, which is read once for it; or why the request goes no further. */
export async function editsFor(rewriter: Rewriter, body: Body): Promise<readonly Edit[] | Refusal> {
  if (body.bytes === 0) return [];
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
  return rewriter.end();
}
