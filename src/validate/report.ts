import type { Identity } from '../ports/verdicts.ts';
import type { Cycle, Held, Limits, Result } from './observed.ts';
import { measure } from './table.ts';
import { allWell } from './validation.ts';

const MIB = 1_048_576;

/** All that a validation has seen, for programs. */
export function report(model: string, { version, backend, driver }: Identity, results: readonly Result[]) {
  return {
    model,
    backend,
    engine_version: version ?? null,
    gpu_driver: driver ?? null,
    passed: allWell(results),
    levels: results.map((result) => ({
      level: result.level,
      outcome: result.outcome,
      fault: result.fault ?? null,
      reasons: result.reasons,
      notes: result.notes,
      measured_by: measure(result) ?? null,
      start_secs: result.observed === undefined ? null : result.observed.startMs / 1_000,
      answer_tokens: result.observed?.tokens ?? null,
      cycles: (result.observed?.cycles ?? []).map(cycleRow),
    })),
  };
}

function cycleRow({ sleep, wake, answer, answerMs, before, asleep, awake, pidBefore, pidAfter, limits }: Cycle) {
  return {
    sleep_secs: secs(sleep?.actMs),
    clear_secs: secs(sleep?.proofMs),
    wake_secs: secs(wake?.actMs),
    ready_secs: secs(wake?.proofMs),
    answer_secs: secs(answerMs),
    response: answer?.kind ?? null,
    pid_before: pidBefore ?? null,
    pid_after: pidAfter ?? null,
    before: memory(before),
    asleep: memory(asleep),
    awake: memory(awake),
    ratio_to_limit: { sleep: limitOf(limits?.sleep), wake: limitOf(limits?.wake) },
  };
}

function limitOf(limit: Limits['sleep']) {
  if (limit === undefined) return null;
  const { ratio, link, mib, gpus } = limit;
  return { ratio: Number(ratio.toPrecision(3)), link, mib: Math.round(mib), ...(gpus !== undefined && { gpus }) };
}

function memory(held: Held | undefined) {
  if (held === undefined) return null;
  const { gpu, processes } = held;
  return {
    gpu_mib: gpu.kind === 'unseen' ? null : gpu.mib,
    gpu_of: gpu.kind,
    processes: processes.count,
    process_mib: mib(processes.bytes),
    process_private_mib: mib(processes.privateBytes),
  };
}

const secs = (ms: number | undefined): number | null => (ms === undefined ? null : Math.round(ms) / 1_000);
const mib = (bytes: number | undefined): number | null => (bytes === undefined ? null : Math.round(bytes / MIB));
