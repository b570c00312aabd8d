import type { Done } from '../engines/driver.ts';
import type { Clock } from '../ports/clock.ts';

/** How long the act took, and the proof after it. */
export async function timed(
  clock: Clock,
  act: () => Promise<unknown>,
  proof: () => Promise<unknown> = async () => undefined,
): Promise<Done> {
  const from = clock.now();
  await act();
  const acted = clock.now();
  await proof();
  return { actMs: acted - from, proofMs: clock.now() - acted };
}
