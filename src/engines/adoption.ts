import type { EngineId } from '../core/kinds.ts';
import type { FamilyMemory } from '../ports/handover.ts';
import { DriverError } from './driver.ts';
import type { Family } from './family.ts';
import type { Life } from './life.ts';
import { failedCall } from './own-calls.ts';
import type { KeptEngine, Sleeps } from './sleeper.ts';

/** What has to be known of a family's running engine. */
export const memoryOf = (family: Family): FamilyMemory => ({ ...family.memory?.(), ...family.ownSleep?.memory?.() });

export function recall(family: Family, known: FamilyMemory): void {
  family.recall?.(known);
  family.ownSleep?.recall?.(known);
}

/** The image that an engine which is taken over was brought back from. Nothing is kept for it while the engine runs; it goes when that one fails. */
export async function preparedFor(engine: EngineId, sleeps: Pick<Sleeps, 'kept'>): Promise<KeptEngine | undefined> {
  const kept = await sleeps.kept(engine);
  await kept?.letBe();
  return kept;
}

/**
 * One sign of life of an engine that is taken over awake. One that works on something large may not answer at once: that is told, and nothing
 * more, since others watch over those that are silent. Rejects where nobody listens any more. That it has ended is heard by others.
 */
export async function signOfAdopted(
  life: Life,
  { readinessPath, name }: Family,
  { probeMs: limitMs, signal }: { readonly probeMs: number; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const answer = await life.call(readinessPath, { method: 'GET', limitMs, signal });
  if (answer.kind === 'answered' || life.child.hasExited) return undefined;
  const why = failedCall(answer, limitMs);
  if (answer.kind === 'refused') throw new DriverError(`${name} was taken over and cannot be reached: ${why}`);
  return `it was taken over awake and has not answered yet: ${why}`;
}
