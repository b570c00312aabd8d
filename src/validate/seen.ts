import type { SeenMib, Verdict } from '../ports/verdicts.ts';
import type { Held, Observed } from './observed.ts';

const MIB = 1_048_576;

/**
 * What one engine was seen to hold while it was awake and while it slept, the most of all cycles. Asleep only what is its own counts of main memory: the rest are
 * files that the system takes back as it likes.
 */
export function heldIn({ cycles }: Observed): NonNullable<Verdict['held']> {
  const awake = cycles.flatMap(({ before, awake: after }) => (after === undefined ? [before] : [before, after]));
  const asleep = cycles.flatMap((cycle) => cycle.asleep ?? []);
  return {
    awake: { gpu: most(awake, onGpu), host: most(awake, ({ processes }) => processes.bytes) },
    asleep: { gpu: most(asleep, onGpu), host: most(asleep, ({ processes }) => processes.privateBytes) },
  };
}

/** What one engine takes awake, by all levels on which it was tried. */
export function awakeMib(verdicts: readonly Verdict[], memory: keyof SeenMib): number | undefined {
  const seen = verdicts.flatMap(({ held }) => held?.awake[memory] ?? []);
  return seen.length === 0 ? undefined : Math.max(...seen);
}

const onGpu = ({ gpu }: Held): number | undefined => (gpu.kind === 'own' ? gpu.mib * MIB : undefined);

/** Undefined unless it was seen each time: what was only seen at times may have been more. */
function most(held: readonly Held[], bytesOf: (held: Held) => number | undefined): number | undefined {
  const seen = held.flatMap((one) => bytesOf(one) ?? []);
  return seen.length === 0 || seen.length < held.length ? undefined : Math.ceil(Math.max(...seen) / MIB);
}
