import { isDeeper } from './depth.ts';
import { defaultRestartRules, judge, type FailedWhile, type Failure, type RestartRules } from './restart.ts';
import type { Why } from './trouble.ts';
import { after, impossible, unreachable, type Millis, type NapLevel } from './kinds.ts';

/**
 * Where one engine is. Each variant carries only what is true in it.
 * `reaping` and `stuck` follow a failure: `failed` is entered only once the process group is proven gone,
 * so a model that is `failed` holds no memory.
 */
export type EnginePhase =
  | { readonly kind: 'off' }
  | { readonly kind: 'starting'; readonly since: Millis; readonly deadline: Millis }
  | { readonly kind: 'awake'; readonly since: Millis }
  | {
      readonly kind: 'falling-asleep';
      readonly level: NapLevel;
      readonly instead?: Escalation | undefined;
      readonly since: Millis;
      readonly deadline: Millis;
    }
  | {
      readonly kind: 'asleep';
      readonly level: NapLevel;
      readonly instead?: Escalation | undefined;
      readonly since: Millis;
    }
  | { readonly kind: 'waking'; readonly level: NapLevel; readonly since: Millis; readonly deadline: Millis }
  | {
      readonly kind: 'stopping';
      readonly instead?: Escalation | undefined;
      readonly since: Millis;
      readonly deadline: Millis;
    }
  | { readonly kind: 'reaping'; readonly failed: Failed; readonly since: Millis; readonly deadline: Millis }
  | { readonly kind: 'stuck'; readonly failed: Failed | undefined; readonly reason: string; readonly retryAt: Millis }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly retryAt: Millis };

/** A sleep that failed, in whose place something deeper is done. */
export type Escalation = { readonly from: NapLevel; readonly reason: string };

/** A failure whose process is not yet proven gone. */
type Failed = { readonly failure: Failure; readonly retryAt: Millis };

/** What the stage wants of it. The engine decides how to get there. */
export type EngineGoal =
  | { readonly kind: 'awake' }
  /** `frozen`: with requests in flight, whose connections live on. What is done in its place, where that fails, ends them. */
  | { readonly kind: 'asleep'; readonly level: NapLevel; readonly frozen?: true }
  | { readonly kind: 'off' };

export type EngineCommand =
  | { readonly kind: 'start' }
  | { readonly kind: 'sleep'; readonly level: NapLevel; readonly frozen?: true }
  | { readonly kind: 'wake'; readonly level: NapLevel }
  | { readonly kind: 'stop' };

export type EngineEvent =
  /** `atOnce`: one that failed is tried again now and not after its pause, or its failure is over if it shall not be awake. */
  | { readonly kind: 'goal-set'; readonly goal: EngineGoal; readonly atOnce: boolean }
  | { readonly kind: 'command-done'; readonly epoch: number }
  | ({ readonly kind: 'command-failed'; readonly epoch: number } & Why)
  /** `born` is the epoch of the start that made the process, so that the exit of an earlier one is not taken for this one's. */
  | { readonly kind: 'process-exited'; readonly born: number; readonly reason: string }
  /** What it was to be woken from is gone, and nothing of it runs: its image has made room for another. */
  | { readonly kind: 'sleep-lost'; readonly born: number }
  /** The watchdog's verdict on an engine that is awake and does not answer. */
  | { readonly kind: 'unresponsive'; readonly born: number; readonly reason: string }
  | { readonly kind: 'time-passed' };

export type EngineEffect = { readonly kind: 'run'; readonly epoch: number; readonly command: EngineCommand };

export type EngineRules = {
  /** How long each command may take before it counts as failed. */
  readonly limits: Readonly<Record<EngineCommand['kind'], number>>;
  readonly restart: RestartRules;
  /** What the engine may be put to besides level 5, from the lightest to the deepest. A sleep that fails goes on to the next. */
  readonly naps: readonly NapLevel[];
  /** To which of them it can go straight from its sleep at another. Where it cannot, it is ended to go deeper. */
  readonly deepens?: Readonly<Partial<Record<NapLevel, readonly NapLevel[]>>>;
  /** How soon a stop that could not prove the process gone is tried again. */
  readonly stopAgainMs: number;
};

export const defaultEngineRules: EngineRules = {
  limits: { start: 600_000, sleep: 120_000, wake: 600_000, stop: 60_000 },
  restart: defaultRestartRules,
  naps: [],
  stopAgainMs: 5_000,
};

/** `epoch` counts commands: an answer that carries another epoch is late and is dropped. `born` is the epoch of the running process's start. */
export type Engine = {
  readonly phase: EnginePhase;
  readonly goal: EngineGoal;
  readonly epoch: number;
  readonly born: number;
  readonly failures: number;
};

export type EngineStep = { readonly engine: Engine; readonly effects: readonly EngineEffect[] };

export const newEngine: Engine = { phase: { kind: 'off' }, goal: { kind: 'off' }, epoch: 0, born: 0, failures: 0 };

/** One that runs already: its start was another catnap's, and counts as the first. */
export function handedEngine(phase: HandedPhase, now: Millis): Engine {
  const goal: EngineGoal = phase.kind === 'asleep' ? { kind: 'asleep', level: phase.level } : { kind: 'awake' };
  return { ...newEngine, phase: { ...phase, since: now }, goal, epoch: 1, born: 1 };
}

export type HandedPhase = { readonly kind: 'awake' } | { readonly kind: 'asleep'; readonly level: NapLevel };

/** Whether the engine holds nothing that another model could want: no process, or one that sleeps. */
export function atRest(phase: EnginePhase): boolean {
  return phase.kind === 'off' || phase.kind === 'asleep' || phase.kind === 'failed';
}

/** The failure that an engine has not recovered from, also while what is left of it is still being cleared away. */
export function failureOf(phase: EnginePhase): Failure | undefined {
  if (phase.kind === 'reaping' || phase.kind === 'stuck') return phase.failed?.failure;
  return phase.kind === 'failed' ? phase.failure : undefined;
}

/** Whether it does something deeper in place of a sleep that failed. */
export function isInstead(phase: EnginePhase): boolean {
  return (phase.kind === 'falling-asleep' || phase.kind === 'stopping') && phase.instead !== undefined;
}

/** When an engine that failed is tried again. */
export function retryAtOf(phase: EnginePhase): Millis | undefined {
  if (phase.kind === 'reaping' || phase.kind === 'stuck') return phase.failed?.retryAt;
  return phase.kind === 'failed' ? phase.retryAt : undefined;
}

/** When the engine must be looked at again if nothing happens before. */
export function engineDueAt({ phase, goal }: Engine): Millis | undefined {
  switch (phase.kind) {
    case 'starting':
    case 'falling-asleep':
    case 'waking':
    case 'stopping':
    case 'reaping':
      return phase.deadline;
    case 'stuck':
      return phase.retryAt;
    case 'failed':
      return goal.kind === 'awake' ? phase.retryAt : undefined;
    case 'off':
    case 'awake':
    case 'asleep':
      return undefined;
    default:
      return unreachable(phase);
  }
}

export function stepEngine(engine: Engine, event: EngineEvent, now: Millis, rules: EngineRules): EngineStep {
  switch (event.kind) {
    case 'goal-set':
      return setGoal({ ...engine, goal: event.goal }, event.atOnce, now, rules);
    case 'command-done':
      return event.epoch === engine.epoch ? finished(engine, now, rules) : still(engine);
    case 'command-failed':
      return event.epoch === engine.epoch ? commandFailed(engine, whyOf(event), now, rules) : still(engine);
    case 'process-exited':
      return event.born === engine.born ? processLost(engine, event, now, rules) : still(engine);
    case 'sleep-lost':
      return event.born === engine.born && (engine.phase.kind === 'asleep' || engine.phase.kind === 'falling-asleep')
        ? stop(engine, undefined, now, rules)
        : still(engine);
    case 'unresponsive':
      return event.born === engine.born && engine.phase.kind === 'awake'
        ? fail(engine, 'awake', { reason: event.reason }, now, rules)
        : still(engine);
    case 'time-passed':
      return timePassed(engine, now, rules);
    default:
      return unreachable(event);
  }
}

function setGoal(engine: Engine, atOnce: boolean, now: Millis, rules: EngineRules): EngineStep {
  if (!atOnce || engine.phase.kind !== 'failed') return converge(engine, now, rules);
  if (engine.goal.kind === 'awake') return start(engine, now, rules);
  return still({ ...engine, failures: 0, phase: { kind: 'off' } });
}

/** The command in flight has done its work. */
function finished(engine: Engine, now: Millis, rules: EngineRules): EngineStep {
  const { phase } = engine;
  switch (phase.kind) {
    case 'starting':
    case 'waking':
      return converge({ ...engine, phase: { kind: 'awake', since: now } }, now, rules);
    case 'falling-asleep':
      return converge(
        {
          ...engine,
          failures: 0,
          phase: { kind: 'asleep', level: phase.level, instead: phase.instead, since: now },
        },
        now,
        rules,
      );
    case 'stopping':
      return converge({ ...engine, failures: 0, phase: { kind: 'off' } }, now, rules);
    case 'reaping':
      return converge({ ...engine, phase: { kind: 'failed', ...phase.failed } }, now, rules);
    case 'off':
    case 'awake':
    case 'asleep':
    case 'stuck':
    case 'failed':
      return impossible(`a command finished while ${phase.kind}`);
    default:
      return unreachable(phase);
  }
}

function commandFailed(engine: Engine, why: Why, now: Millis, rules: EngineRules): EngineStep {
  const { phase } = engine;
  switch (phase.kind) {
    case 'starting':
    case 'waking':
      return fail(engine, phase.kind, why, now, rules);
    case 'falling-asleep':
      return escalate(engine, { from: phase.level, reason: why.reason }, now, rules);
    case 'stopping':
      return stuck(engine, undefined, why.reason, now, rules);
    case 'reaping':
      return stuck(engine, phase.failed, why.reason, now, rules);
    case 'off':
    case 'awake':
    case 'asleep':
    case 'stuck':
    case 'failed':
      return impossible(`a command failed while ${phase.kind}`);
    default:
      return unreachable(phase);
  }
}

/** The leader of the process group is gone; what it started may not be, so everything but a stop in flight ends in one. */
function processLost(engine: Engine, { reason }: Why, now: Millis, rules: EngineRules): EngineStep {
  const { phase } = engine;
  switch (phase.kind) {
    case 'starting':
    case 'awake':
    case 'falling-asleep':
    case 'asleep':
    case 'waking':
      return fail(engine, phase.kind, { reason }, now, rules);
    case 'off':
    case 'stopping':
    case 'reaping':
    case 'stuck':
    case 'failed':
      return still(engine);
    default:
      return unreachable(phase);
  }
}

function timePassed(engine: Engine, now: Millis, rules: EngineRules): EngineStep {
  const due = engineDueAt(engine);
  if (due === undefined || now < due) return still(engine);
  const { phase } = engine;
  if (phase.kind === 'failed') return converge(engine, now, rules);
  if (phase.kind === 'stuck') return stop(engine, phase.failed, now, rules);
  return commandFailed(engine, { reason: 'it did not finish in time', trouble: 'too_late' }, now, rules);
}

/** A failed engine is never simply forgotten: its processes are ended first, whatever the goal is. */
function fail(engine: Engine, during: FailedWhile, why: Why, now: Millis, rules: EngineRules): EngineStep {
  const stable = engine.phase.kind === 'awake' && now - engine.phase.since >= rules.restart.stableAfterMs;
  const failed = judge(during, why, stable ? 0 : engine.failures, now, rules.restart);
  return stop({ ...engine, failures: failed.failure.attempts }, failed, now, rules);
}

/**
 * A sleep failed and the process may still hold everything. It is put deeper, at last to its end, and takes its room until
 * that is proven.
 */
function escalate(engine: Engine, instead: Escalation, now: Millis, rules: EngineRules): EngineStep {
  const at = rules.naps.indexOf(instead.from);
  const next = at < 0 ? undefined : rules.naps[at + 1];
  if (next === undefined) return stop(engine, undefined, now, rules, instead);
  return fallAsleep(engine, { level: next }, instead, now, rules);
}

function fallAsleep(
  engine: Engine,
  { level, frozen }: Omit<Extract<EngineGoal, { readonly kind: 'asleep' }>, 'kind'>,
  instead: Escalation | undefined,
  now: Millis,
  rules: EngineRules,
): EngineStep {
  const deadline = after(now, rules.limits.sleep);
  const command: EngineCommand = { kind: 'sleep', level, ...(frozen === true && { frozen }) };
  return run(engine, command, { kind: 'falling-asleep', level, instead, since: now, deadline });
}

function stop(
  engine: Engine,
  failed: Failed | undefined,
  now: Millis,
  rules: EngineRules,
  instead?: Escalation,
): EngineStep {
  const during = { since: now, deadline: after(now, rules.limits.stop) };
  return run(
    engine,
    { kind: 'stop' },
    failed === undefined ? { kind: 'stopping', instead, ...during } : { kind: 'reaping', failed, ...during },
  );
}

/** It could not be proven gone, so it still counts as taking its room; the stop is tried again until it is. */
function stuck(
  engine: Engine,
  failed: Failed | undefined,
  reason: string,
  now: Millis,
  rules: EngineRules,
): EngineStep {
  const phase: EnginePhase = { kind: 'stuck', failed, reason, retryAt: after(now, rules.stopAgainMs) };
  return still({ ...engine, epoch: engine.epoch + 1, phase });
}

/** Starts the next command towards the goal, unless one is in flight that must be let finish or none is needed. */
function converge(engine: Engine, now: Millis, rules: EngineRules): EngineStep {
  const { phase, goal } = engine;
  switch (phase.kind) {
    case 'off':
      return goal.kind === 'awake' ? start(engine, now, rules) : still(engine);
    case 'failed':
      return goal.kind === 'awake' && now >= phase.retryAt ? start(engine, now, rules) : still(engine);
    case 'awake':
      if (goal.kind === 'asleep') return fallAsleep(engine, goal, undefined, now, rules);
      return goal.kind === 'off' ? stop(engine, undefined, now, rules) : still(engine);
    case 'asleep':
      if (goal.kind === 'awake') {
        const { level } = phase;
        return run(
          engine,
          { kind: 'wake', level },
          { kind: 'waking', level, since: now, deadline: after(now, rules.limits.wake) },
        );
      }
      if (goal.kind === 'asleep') return deepen(engine, phase.level, goal.level, now, rules);
      return stop(engine, undefined, now, rules);
    case 'starting':
    case 'waking':
    case 'falling-asleep':
      // A stop does not wait for what it makes pointless; a nap does, since a half-started engine cannot be put to sleep.
      return goal.kind === 'off' ? stop(engine, undefined, now, rules) : still(engine);
    case 'stopping':
    case 'reaping':
    case 'stuck':
      return still(engine);
    default:
      return unreachable(phase);
  }
}

/** It sleeps and is to sleep deeper: as deep as it can go from where it is, at least so deep; at last to its end. One that is as deep stays. */
function deepen(engine: Engine, from: NapLevel, to: NapLevel, now: Millis, rules: EngineRules): EngineStep {
  if (!isDeeper(to, from)) return still(engine);
  const level = rules.deepens?.[from]?.find((nap) => rules.naps.includes(nap) && !isDeeper(to, nap));
  return level === undefined
    ? stop(engine, undefined, now, rules)
    : fallAsleep(engine, { level }, undefined, now, rules);
}

function start(engine: Engine, now: Millis, rules: EngineRules): EngineStep {
  const step = run(
    engine,
    { kind: 'start' },
    { kind: 'starting', since: now, deadline: after(now, rules.limits.start) },
  );
  return { ...step, engine: { ...step.engine, born: step.engine.epoch } };
}

const whyOf = ({ reason, trouble }: Why): Why => (trouble === undefined ? { reason } : { reason, trouble });

const still = (engine: Engine): EngineStep => ({ engine, effects: [] });

function run(engine: Engine, command: EngineCommand, phase: EnginePhase): EngineStep {
  const epoch = engine.epoch + 1;
  return { engine: { ...engine, phase, epoch }, effects: [{ kind: 'run', epoch, command }] };
}
