import type { Engine, EngineEvent, EngineRules } from '../../../src/core/engine.ts';
import type { EngineId, Millis, ModelId, TicketId } from '../../../src/core/kinds.ts';
import type { Member } from '../../../src/core/member.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import type { Book } from '../book.ts';
import type { ModelPlan, WorldPlan } from '../plan.ts';
import type { Theatre } from '../theatre.ts';
import { must } from '../violation.ts';

/** How far sums of times with fractions may be off. */
export const ROUNDING = 1e-6;

/** What checkers may look at. */
export type Scene = {
  readonly plan: WorldPlan;
  readonly theatre: Theatre;
  readonly book: Book;
  readonly now: () => Millis;
  /** The earliest moment by which a shutdown that was asked for has to be forced. */
  readonly closingAt: Millis | undefined;
  rulesOf(engine: EngineId): EngineRules;
  /** Whether the process of the engine is alive, whatever is believed of it. */
  lives(engine: EngineId): boolean;
  /** How much memory it really holds. */
  heldBy(engine: EngineId): number;
};

/** Watches one promise. Each method is called at every step; a promise that does not hold throws a `Violation`. */
export interface Checker {
  /** The stage has moved and the book knows of the event, but not yet of the effects. */
  handled?(event: StageEvent, effects: readonly StageEffect[]): void;
  /** Before the effect is written into the book and carried out. */
  effect?(effect: StageEffect): void;
  stepped?(engine: EngineId, before: Engine, after: Engine, event: EngineEvent): void;
  /** Nothing is left to be handled in this turn. */
  settled?(): void;
  /** Nothing is due any more. */
  rested?(): void;
}

export function memberOf({ theatre }: Scene, model: ModelId): Member {
  const member = theatre.stage.members.get(model);
  must(member !== undefined, `${model} is not on the stage`);
  return member;
}

/** Whether anybody waits for it to come, and is not about to be told that it does not. What was put away with its engine is lost with it. */
export function isWaitedFor({ book }: Scene, model: ModelId, effects: readonly StageEffect[] = []): boolean {
  const refused = refusedIn(effects);
  return book.waiting(model).some(({ id, kind }) => kind !== 'frozen' && !refused.has(id));
}

/** Who is told by these that it is not served. */
export const refusedIn = (effects: readonly StageEffect[]): ReadonlySet<TicketId> =>
  new Set(effects.flatMap((effect) => (effect.kind === 'reject' ? [effect.ticket] : [])));

export function planOf({ plan }: Scene, model: ModelId): ModelPlan {
  const found = plan.models.find(({ terms }) => terms.model === model);
  must(found !== undefined, `${model} is not in the plan`);
  return found;
}

/** How much of the room that is shared a member needs to come in, by the plan. Those that are kept have room of their own. */
export function roomOf({ terms, replicas }: Member): number {
  if (terms.keep === true) return 0;
  return terms.costEach === undefined ? terms.cost : terms.costEach * replicas;
}

/** What the engines of a model take that hold memory or are about to. */
export function takenBy({ terms }: Member, engines: number): number {
  if (engines === 0) return 0;
  return terms.costEach === undefined ? terms.cost : terms.costEach * engines;
}

/** The budget without what is set aside for those that are kept. */
export function sharedOf({ models, capacity }: WorldPlan): number {
  const aside = ({ terms }: ModelPlan): number =>
    terms.keep === true ? (terms.costEach === undefined ? terms.cost : terms.costEach * terms.engines.length) : 0;
  return models.reduce((left, model) => left - aside(model), capacity);
}

/** Whether as many load as may at a time. */
export function loadsAreTaken({ plan, theatre }: Scene): boolean {
  const members = [...theatre.stage.members.values()];
  return members.filter(({ part, terms }) => part.kind === 'entering' && terms.cost > 0).length >= plan.mostLoads;
}

/** Whether every engine of the model truly holds nothing, whatever the stage believes. */
export function trulyAtRest({ theatre }: Scene, { terms }: Member): boolean {
  return terms.engines.every((engine) => theatre.atRest(engine));
}

/** Whether a failed engine of the model is in the pause before its next try. */
export function inPause({ theatre, now }: Scene, { terms }: Member): boolean {
  return terms.engines.some((engine) => {
    const { phase } = theatre.engine(engine);
    return phase.kind === 'failed' && phase.retryAt > now();
  });
}

/** Whether no request ever brings it in. */
export function isKept(scene: Scene, model: ModelId): boolean {
  const { terms, held } = memberOf(scene, model);
  return terms.shut !== undefined || held;
}

/** Whether an operator waits for it to be awake, and is not about to be told that it is not to be. */
export function loadWaits({ book }: Scene, model: ModelId, effects: readonly StageEffect[] = []): boolean {
  const refused = refusedIn(effects);
  return book.waiting(model).some(({ id, kind }) => kind === 'load' && !refused.has(id));
}

export const hasFailed = (phase: Engine['phase']): boolean =>
  phase.kind === 'failed' || ((phase.kind === 'reaping' || phase.kind === 'stuck') && phase.failed !== undefined);

/** The whole cast in one line. */
export function describe({ theatre }: Scene): string {
  const parts = [...theatre.stage.members.values()].map(({ model, part, terms, lane, leases }) => {
    const engines = terms.engines.map((engine) => theatre.engine(engine).phase.kind).join('+');
    return `${model} ${part.kind} (${engines}, ${lane.length} waiting, ${leases.size} open)`;
  });
  return parts.join('; ');
}
