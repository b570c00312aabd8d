import type { Body, Outflow } from '../../src/proxy/outflow.ts';

/** A body in memory. `torn`: one that can only be had piece by piece. */
export function bodyOf(chunks: readonly Buffer[], { torn = false } = {}): Body {
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return { bytes, chunks: torn ? undefined : chunks, once: false, open: () => outflowOf(chunks) };
}

function outflowOf(chunks: readonly Buffer[]): Outflow {
  let at = 0;
  const next = (): readonly Buffer[] | undefined => {
    const chunk = chunks[at++];
    return chunk && [chunk];
  };
  return { next: () => Promise.resolve(next()), close: () => {} };
}

/** All that comes out of a body, read piece by piece. */
export async function readOut(body: Body): Promise<Buffer> {
  const reading = body.open();
  const out: Buffer[] = [];
  for (let next = await reading.next(); next !== undefined; next = await reading.next())
    out.push(...next.map((piece) => Buffer.from(piece)));
  reading.close();
  return Buffer.concat(out);
}

/** Cuts a body at the given places. */
export function split(body: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (body.length + 1)).toSorted((a, b) => a - b), body.length];
  return places.slice(1).map((to, i) => body.subarray(places[i], to));
}
