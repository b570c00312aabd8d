import type { EngineGoal } from '../../src/core/engine.ts';
import type { Fact } from '../../src/core/facts.ts';
import { unreachable } from '../../src/core/kinds.ts';
import type { MemoryReading } from '../../src/core/overlap.ts';
import type { LevelOrder, StageEffect, StageEvent } from '../../src/core/stage-events.ts';

/** One line for what happened to the stage. */
export function sayEvent(event: StageEvent): string {
  switch (event.kind) {
    case 'ticket-arrived':
      return `arrive ${event.ticket} ${event.model}`;
    case 'ticket-abandoned':
      return `leave ${event.ticket}`;
    case 'lease-settled':
      return `settle ${event.ticket}`;
    case 'engine-moved':
      return `moved ${event.engine} ${event.phase.kind}`;
    case 'memory-read':
      return sayReading(event.reading);
    case 'load-asked':
      return `${event.as} ${event.order} ${event.model}${event.fresh ? ' afresh' : ''}${replicas(event.replicas)}${sets(event.setsLevel)}`;
    case 'unload-asked':
      return `unload ${event.order} ${event.model} ${event.level}${event.hold ? ' for good' : ''}${sets(event.setsLevel)}`;
    case 'level-set':
      return `level ${event.model} ${event.level ?? 'as configured'}`;
    case 'mode-set':
      return `mode ${event.mode}`;
    case 'models-set':
      return `models ${event.options.models.map(({ model }) => model).join(' ')}; anew ${event.anew.join(' ')}`;
    case 'shutdown-asked':
      return `shutdown ${event.withinMs / 1_000}s`;
    case 'standstill-asked':
      return 'stand still';
    case 'standstill-over':
      return 'go on';
    case 'let-go':
      return 'let go';
    case 'handed-over':
      return `take over ${event.models.map(({ terms }) => terms.model).join(' ')}; anew ${event.anew.join(' ')}`;
    case 'time-passed':
      return 'time';
    default:
      return unreachable(event);
  }
}

/** One line for what the stage wants done; undefined for what need not be read. */
export function sayEffect(effect: StageEffect): string | undefined {
  switch (effect.kind) {
    case 'grant':
      return `grant ${effect.ticket} on ${effect.engine}`;
    case 'reject':
      return `reject ${effect.ticket} ${effect.code}${hint(effect.retryAt)}: ${effect.reason}`;
    case 'order-done':
      return `done ${effect.order}`;
    case 'cut':
      return `cut ${effect.tickets.join(' ')} ${effect.code}: ${effect.reason}`;
    case 'freeze':
    case 'thaw':
      return `${effect.kind} ${effect.tickets.join(' ')}`;
    case 'set-goal':
      return `goal ${effect.engine} ${sayGoal(effect.goal)}${effect.atOnce && effect.goal.kind === 'awake' ? ' at once' : ''}`;
    case 'dismissed':
      return `dismiss ${effect.engines.join(' ')}`;
    case 'tell':
      return sayFact(effect.fact);
    case 'load-over':
      return 'others may load';
    case 'closed':
      return 'closed';
    default:
      return unreachable(effect);
  }
}

function sayReading({ memory, freeMib, heldMib, takenAt }: MemoryReading): string {
  const held = [...heldMib].map(([engine, mib]) => `, ${engine} ${mib}`);
  return `${memory} at ${Math.round(takenAt) / 1_000}s: free ${freeMib}${held.join('')}`;
}

const replicas = (count: number | undefined): string => (count === undefined ? '' : ` with ${count}`);

const sets = (level: LevelOrder | undefined): string =>
  level === undefined ? '' : `, from now on ${level ?? 'as configured'}`;

const hint = (retryAt: number | undefined): string =>
  retryAt === undefined ? '' : `, again at ${Math.round(retryAt) / 1_000}s`;

const sayGoal = (goal: EngineGoal): string =>
  goal.kind === 'asleep' ? `asleep(${goal.level}${goal.frozen === true ? ' with requests' : ''})` : goal.kind;

function sayFact(fact: Fact): string | undefined {
  if (fact.kind === 'swap-planned') return `swap ${fact.swap}: ${[...fact.from, ''].join(' ')}-> ${fact.to}`;
  if (fact.kind === 'model-forgotten') return `${fact.model} is forgotten`;
  if (fact.kind === 'swap-overlaps') return `swap ${fact.swap}: ${fact.to} beside ${fact.beside.join(' ')}`;
  if (fact.kind === 'start-short-of-memory')
    return `${fact.model} is short of memory: ${fact.from.length === 0 ? 'nobody' : fact.from.join(' ')} make room`;
  if (fact.kind === 'host-memory-short')
    return `${fact.model} ${fact.from} -> ${fact.to}: ${fact.mib} of ${fact.limitMib} MiB${fact.for === undefined ? '' : ` for ${fact.for}`}`;
  if (fact.kind === 'model-demoted')
    return `demoted ${fact.model} ${fact.from ?? 'awake'} -> ${fact.to} after ${Math.round(fact.idleMs) / 1_000}s`;
  if (fact.kind !== 'swap-finished') return undefined;
  const { id, result, legs, level } = fact.record;
  const spent = Object.entries(legs).map(([leg, ms]) => `, ${leg} ${Math.round(ms) / 1_000}s`);
  return `swap ${id}: ${result}${result === 'done' ? ` from level ${level}` : ''}${spent.join('')}`;
}
