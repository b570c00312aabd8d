import { atRest } from '../core/engine.ts';
import { unloadUnderWay, type HandedMember } from '../core/handover.ts';
import { millis, type Millis } from '../core/kinds.ts';
import type { Member } from '../core/member.ts';
import type { ModelTerms } from '../core/terms.ts';
import type { HandedEngine, HandedModel } from '../ports/handover.ts';
import type { LoadOverride } from '../ports/load-override.ts';
import type { StageActor } from './stage-actor.ts';

/** Who keeps stages from letting go. */
export function underWay(stages: readonly { readonly actor: Pick<StageActor, 'engines' | 'stage'> }[]): string {
  const engines = stages.flatMap(({ actor }) => [...actor.engines.values()]);
  const moving = engines.filter(({ engine: { phase } }) => phase.kind !== 'awake' && !atRest(phase));
  const members = stages.flatMap(({ actor }) => [...actor.stage.members.values()]);
  const held = members.flatMap(({ model, frozen }) => (frozen.size > 0 ? [`${model} holds suspended requests`] : []));
  return [...moving.map(({ id, engine }) => `${id} is still ${engine.phase.kind}`), ...held].join(', ');
}

/** What a stage knows of a model that is handed over with these of its engines. */
export function handedModel(
  member: Member,
  {
    override,
    running,
    now,
  }: { readonly override: LoadOverride; readonly running: readonly HandedEngine[]; readonly now: Millis },
): HandedModel {
  const { model, terms, part, held, replicas, stale, levelSet, quietSince } = member;
  const { engines, replicas: replicasSet, cost, costEach, keep } = terms;
  const on = part.kind === 'draining' ? part.was : part;
  const unload = unloadUnderWay(member) ?? null;
  return {
    ...{ model, cost, engines, replicasSet, replicas, held, stale, unload, running },
    // What a load has changed ends with the unload.
    override: unload?.level === 5 ? {} : override,
    costEach: costEach ?? null,
    keep: keep === true,
    level: levelSet ?? null,
    onForMs: on.kind === 'on' ? now - on.since : null,
    quietForMs: quietSince === undefined ? null : now - quietSince,
    leases: Array.from(member.leases, ([ticket, engine]) => ({ ticket, engine })),
  };
}

/** What the config has no more: nobody waits for it, and it is there until it is gone. */
const DEPARTING = { targetInflight: 1, maxWaiting: 1, patienceMs: 0, sleepLevel: 5 } as const;

/**
 * The same for the stage that takes it over, with its engines as they were found. `terms`: what the config says of the model now. Of one that the
 * config has no more and of which nothing runs there is nothing to be known.
 */
export function takenModel(
  handed: HandedModel,
  {
    terms,
    phases,
    now,
  }: { readonly terms: ModelTerms | undefined; readonly phases: HandedMember['phases']; readonly now: Millis },
): HandedMember | undefined {
  const { model, engines, replicasSet, cost, costEach, keep, held, stale, replicas, level, unload, running, leases } =
    handed;
  if (terms === undefined && running.length === 0) return undefined;
  const was = { engines, replicas: replicasSet, cost, costEach: costEach ?? undefined, keep };
  const since = (agoMs: number | null): Millis | undefined => (agoMs === null ? undefined : millis(now - agoMs));
  const taken: ModelTerms = { model, ...DEPARTING, ...was, ...terms, ...(running.length > 0 && was) };
  return {
    terms: taken,
    ...{ held, stale, phases, leases },
    replicas: replicas === replicasSet ? taken.replicas : Math.min(replicas, taken.engines.length),
    level: level ?? undefined,
    unload: unload ?? undefined,
    onSince: since(handed.onForMs),
    quietSince: since(handed.quietForMs),
  };
}
