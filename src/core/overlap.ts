import { atRest } from './engine.ts';
import { after, type EngineId, type Millis } from './kinds.ts';
import type { Member } from './member.ts';

export type MemoryKind = 'gpu' | 'host';

/** What was measured of the memory that the engines of a stage share. */
export type MemoryReading = {
  readonly memory: MemoryKind;
  /** When the look began. */
  readonly takenAt: Millis;
  /** What was free then for anybody. */
  readonly freeMib: number;
  /** How much each engine that was looked at held at most. */
  readonly heldMib: ReadonlyMap<EngineId, number>;
};

/** Whether who is on its way off counts with what it still holds, or with nothing once that alone decides. */
export type OverlapBy = 'mib' | 'models';

type Ground = {
  /** The budget that is shared, in the unit of the costs. */
  readonly shared: number;
  readonly by: OverlapBy;
  readonly reading: MemoryReading;
  readonly now: Millis;
};

/** So long what was measured holds: others than our engines may take memory at any time. */
const HOLDS_MS = 1_000;

/** Whether anything that could be measured would let it in beside others who leave. One whose start ran out of memory takes more than is known. */
export function couldOverlap(comer: Member): boolean {
  const { terms, overlap, roomAsked, roomFrom } = comer;
  return terms.cost > 0 && terms.needs !== undefined && overlap === 'may' && !roomAsked && roomFrom.length === 0;
}

/**
 * Whether it fits beside those who still leave: into what is free by measurement, less what others may be about to take; and into the budget, where who
 * leaves counts with what it was measured to hold. An engine that starts sizes itself by what it finds free on the GPU, and fails where that grows
 * meanwhile, so it waits until those who leave hold nothing there.
 */
export function fitsBeside(comer: Member, others: Iterable<Member>, { shared, by, reading, now }: Ground): boolean {
  const need = needOf(comer, reading);
  if (!couldOverlap(comer) || need === undefined || after(reading.takenAt, HOLDS_MS) < now) return false;
  let [room, free, held] = [shared, reading.freeMib, 0];
  for (const other of others) {
    if (other === comer || !other.occupies || other.terms.cost === 0) continue;
    const left = leftOf(other, reading);
    if (left === undefined) {
      room -= other.cost;
      if (other.part.kind === 'leaving') held = Number.POSITIVE_INFINITY;
      // What is free of main memory counts the files that others have mapped and go on using.
      if (reading.memory === 'host' || !isSteady(other, reading))
        free -= needOf(other, reading) ?? Number.POSITIVE_INFINITY;
    } else {
      held += left;
      if (by === 'mib') room -= Math.min(other.cost, left);
    }
  }
  const sizesItself = reading.memory === 'gpu' && comer.level === 5;
  return comer.cost <= room && need <= free && (held === 0 || !sizesItself);
}

/** Those of its engines that are on their way off: only of them is it worth to know what they hold. */
export function leavingOf({ part, phases }: Member): readonly EngineId[] {
  if (part.kind !== 'leaving' && part.kind !== 'draining') return [];
  return [...phases].flatMap(([engine, phase]) => (atRest(phase) ? [] : [engine]));
}

/** How much one that leaves held at most when that was read, and so holds at most now; undefined where it may take memory again. */
function leftOf({ part, phases, answering, giving }: Member, { takenAt, heldMib }: MemoryReading): number | undefined {
  if (part.kind !== 'leaving' || answering) return undefined;
  let left = 0;
  for (const [engine, phase] of phases) {
    if (atRest(phase)) continue;
    const since = giving.since(engine);
    const mib = heldMib.get(engine);
    if (since === undefined || since >= takenAt || mib === undefined) return undefined;
    left += mib;
  }
  return left;
}

/** Whether it had all its memory when that was read, and so takes no more. */
function isSteady({ engines, phases, answering }: Member, { takenAt }: MemoryReading): boolean {
  if (answering || !engines.every((engine) => phases.get(engine)?.kind === 'awake')) return false;
  return [...phases.values()].every((phase) => atRest(phase) || (phase.kind === 'awake' && phase.since < takenAt));
}

function needOf({ terms, replicas, phases }: Member, { memory }: MemoryReading): number | undefined {
  const each = terms.needs?.[memory];
  if (each === undefined) return undefined;
  const stirring = [...phases.values()].filter((phase) => !atRest(phase)).length;
  return each * Math.max(replicas, stirring);
}
