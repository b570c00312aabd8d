import { dueOf } from '../sleep/memory.ts';
import { LEVEL_TRAITS } from '../sleep/traits.ts';
import type { NapLevel, SleepLevel } from '../core/kinds.ts';
import type { TrialLevel } from '../ports/verdicts.ts';
import type { Comparison } from './compare.ts';
import type { Cycle, Held, Observed, Result } from './observed.ts';

/** Nothing here measures or waits: what was seen comes in, what it means goes out. */

const BACK_SHARE = 0.03;
/** Where only whole GPUs can be compared, a change below these is taken for the doing of others. */
const DEVICE_SHARE = 0.2;
const DEVICE_NOISE_MIB = 256;
/** By so much a small process may differ without anything being wrong: its heap, its threads. */
const PROCESS_SLACK_MIB = 16;
/** Shorter answers may look right by luck. */
const ENOUGH_TOKENS = 64;
const MIB = 1_048_576;

export function levelOf(level: TrialLevel): SleepLevel {
  if (level === '3f') return 3;
  return level === '4full' || level === '4f' ? 4 : level;
}

/** Whether it is tried with a stream open. What comes of it says nothing about the level by itself. */
export const isOpen = (level: TrialLevel): boolean => level === '3f' || level === '4f';

/** What of the engine's memory tells whether the level does what it promises. */
export type Yardstick = 'gpu' | 'processes' | 'nothing';

export function yardstickOf(level: TrialLevel, before: Held): Yardstick | { readonly cannot: string } {
  const ends = endsProcess(level);
  const { gpu, processes } = before;
  if (gpu.kind === 'own' || (gpu.kind === 'devices' && !ends)) return 'gpu';
  if (processes.count === 0) return 'nothing';
  if (ends) return 'processes';
  const why = gpu.kind === 'unseen' ? gpu.why : 'its processes hold no GPU memory';
  return { cannot: `level ${level} frees GPU memory, and ${why}` };
}

/** What is still held that should not be; undefined when enough is free. */
export function stillHeld(level: TrialLevel, before: Held, asleep: Held): string | undefined {
  if (endsProcess(level) && asleep.processes.count > 0) return `${asleep.processes.count} of its processes still live`;
  const [then, now] = [before.gpu, asleep.gpu];
  if (then.kind === 'unseen') return undefined;
  if (now.kind === 'unseen') return `whether GPU memory is free cannot be seen: ${now.why}`;
  if (then.kind === 'devices') {
    if (endsProcess(level) && before.processes.count > 0) return undefined;
    const due = Math.max(DEVICE_NOISE_MIB, DEVICE_SHARE * then.mib);
    return then.mib - now.mib >= due ? undefined : `the GPUs hold ${now.mib} MiB, and held ${then.mib} MiB before`;
  }
  const held = now.kind === 'own' ? now.mib : 0;
  const due = dueOf(then, isAll(level) ? 'all' : 'most');
  if (then.mib - held >= due) return undefined;
  return `its processes still hold ${held} of ${then.mib} MiB of GPU memory; at least ${Math.ceil(due)} MiB were to be free`;
}

/** How memory after the wake is not as it was before the sleep; undefined when it is. */
export function notBack(level: TrialLevel, before: Held, awake: Held): string | undefined {
  const yardstick = yardstickOf(level, before);
  if (yardstick === 'gpu') {
    const [then, now] = [before.gpu, awake.gpu];
    if (then.kind === 'unseen') return undefined;
    if (now.kind !== then.kind) return 'what it holds of the GPU cannot be compared with before';
    return Math.abs(now.mib - then.mib) <= Math.max(1, BACK_SHARE * then.mib)
      ? undefined
      : `GPU memory went from ${then.mib} to ${now.mib} MiB (${signed(now.mib / then.mib - 1)}, 3 % allowed)`;
  }
  if (yardstick !== 'processes') return undefined;
  if (awake.processes.count === 0) return 'no process of it is there';
  // Pages of files come back when they are used and belong to whoever else maps them, so only what is its own is compared.
  const { privateBytes: then } = before.processes;
  const { privateBytes: now } = awake.processes;
  if (then === undefined || now === undefined) return undefined;
  if (Math.abs(now - then) <= BACK_SHARE * then + PROCESS_SLACK_MIB * MIB) return undefined;
  return `main memory of its own went from ${inMib(then)} to ${inMib(now)} MiB (${signed(now / then - 1)}, 3 % allowed)`;
}

const inMib = (bytes: number): number => Math.round(bytes / MIB);

/** What is wrong with one cycle, the first thing first. */
function faultsOf(level: TrialLevel, cycle: Cycle): string[] {
  const { before, asleep, awake, broken, answer, stream, pidBefore, pidAfter } = cycle;
  const faults: string[] = [];
  const tell = (fault: string | undefined): void => void (fault === undefined || faults.push(fault));
  if (broken?.during === 'sleep') tell(`it could not be put to sleep: ${broken.why}`);
  else if (asleep !== undefined) tell(stillHeld(level, before, asleep));
  if (broken?.during === 'wake') tell(`it did not wake: ${broken.why}`);
  if (broken?.during === 'answer') tell(broken.why);
  if (answer !== undefined) tell(wrongAnswer(answer));
  tell(stream);
  tell(cycle.open);
  if (keepsProcess(level) && 'pidAfter' in cycle && pidAfter !== pidBefore)
    tell(`its process was ${pidBefore} and is ${pidAfter ?? 'gone'}, and this level keeps the process`);
  if (awake !== undefined) tell(notBack(level, before, awake));
  return faults;
}

function wrongAnswer(answer: Comparison): string | undefined {
  switch (answer.kind) {
    case 'match':
    case 'near':
      return undefined;
    case 'differs':
      return `it answers differently: ${answer.how}`;
    case 'empty':
      return 'its answer is empty';
    case 'none':
      return `it does not answer: ${answer.why}`;
    default:
      return answer satisfies never;
  }
}

/** What came of a level that was tried. */
export function judge(observed: Observed): Result {
  const { level, cycles, cyclesWanted, tokens } = observed;
  const reasons = cycles.flatMap((cycle, at) =>
    faultsOf(level, cycle).map((fault) => (cyclesWanted > 1 ? `cycle ${at + 1}: ${fault}` : fault)),
  );
  if (reasons.length === 0 && cycles.length < cyclesWanted) reasons.push('not all of its cycles were come to');
  const passed = reasons.length === 0;
  return {
    level,
    outcome: passed ? 'passed' : 'failed',
    fault: passed ? undefined : 'level',
    reasons,
    notes: notesOn(level, cycles, tokens),
    observed,
  };
}

function notesOn(level: TrialLevel, cycles: readonly Cycle[], tokens: number | undefined): string[] {
  const notes: string[] = [];
  const [first] = cycles;
  if (first !== undefined && yardstickOf(level, first.before) === 'nothing')
    notes.push('it has no process of its own, so there is no memory to measure');
  if (tokens !== undefined && tokens < ENOUGH_TOKENS)
    notes.push(`its answer has only ${tokens} tokens; damage may hide behind one that short`);
  for (const [at, { answer }] of cycles.entries()) {
    if (answer?.kind === 'near')
      notes.push(
        `cycle ${at + 1}: the answer parts at token ${answer.at + 1}, where two candidates were ${answer.gap.toFixed(3)} nat apart, which counts as equal`,
      );
  }
  return notes;
}

const endsProcess = (level: TrialLevel): boolean => {
  const plain = levelOf(level);
  return plain === 5 || !traits(plain).lives;
};

const keepsProcess = (level: TrialLevel): boolean => {
  const plain = levelOf(level);
  return plain !== 5 && traits(plain).preserves.includes('process');
};

const isAll = (level: TrialLevel): boolean => {
  const plain = levelOf(level);
  return plain === 5 || traits(plain).gpu === 'nothing';
};

const traits = (level: NapLevel) => LEVEL_TRAITS[level];

const signed = (share: number): string => `${share < 0 ? '' : '+'}${(100 * share).toFixed(1)} %`;
