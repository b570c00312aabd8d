import { DEPTH, isDeeper } from '../../../src/core/depth.ts';
import type { Engine } from '../../../src/core/engine.ts';
import type { Fact } from '../../../src/core/facts.ts';
import type { EngineId, ModelId, SleepLevel } from '../../../src/core/kinds.ts';
import type { Member } from '../../../src/core/member.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { memberOf, type Checker, type Scene } from './checker.ts';

type Short = Extract<Fact, { readonly kind: 'host-memory-short' }>;

/** What sleepers hold in host memory, or are about to, stays within the limit; nobody goes deeper for it before those who were used earlier. */
export class HostMemoryChecker implements Checker {
  readonly #scene: Scene;
  /** By level. A model that was dropped and has come back is another member, of which nothing is known. */
  readonly #measured = new WeakMap<Member, Map<SleepLevel, number>>();
  /** What was held, by whom and since when it was not used, when the last step ended. */
  #before = new Map<ModelId, { readonly mib: number; readonly since: number }>();
  #goesFor: Short[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(event: StageEvent): void {
    this.#goesFor = [];
    if (event.kind === 'engine-moved' && event.phase.kind === 'asleep' && event.took?.hostMib !== undefined)
      this.#measuredOf(memberOf(this.#scene, event.model)).set(event.phase.level, event.took.hostMib);
  }

  effect(effect: StageEffect): void {
    if (effect.kind !== 'tell' || effect.fact.kind !== 'host-memory-short') return;
    const { fact } = effect;
    const { hostLimitMib: limit } = this.#scene.plan.extras;
    must(limit === fact.limitMib, `${fact.model} goes deeper, and there is no limit of ${fact.limitMib} MiB`);
    must(isDeeper(fact.to, fact.from), `${fact.model} goes from level ${fact.from} to ${fact.to} to free host memory`);
    if (fact.for === fact.model)
      return must(fact.mib > fact.limitMib, `${fact.model} goes to level ${fact.to}, and would have fit`);
    const inVain = fact.for === undefined && this.#goesFor.some((other) => other.for === fact.model);
    must(!inVain, `${fact.model} goes to level ${fact.to}, and others have gone deeper for it`);
    must(!holds(fact.to), `${fact.model} goes to level ${fact.to}, which frees no host memory`);
    this.#isEarliest(fact);
    if (fact.for !== undefined) this.#isNeeded(fact);
    this.#goesFor.push(fact);
  }

  #isEarliest({ model, for: comer }: Short): void {
    const own = this.#before.get(model);
    if (own === undefined) return;
    for (const [other, { since, mib }] of this.#before) {
      const gone = other === model || other === comer || this.#goesFor.some((fact) => fact.model === other);
      const stays = memberOf(this.#scene, other).part.kind === 'out' && this.#heldBy(memberOf(this.#scene, other)) > 0;
      must(
        gone || !stays || mib === 0 || since >= own.since,
        `${model} goes deeper before ${other}, which was used earlier`,
      );
    }
  }

  /**
   * Those who are on their way off, and the one that needs the room, may hold as much as they ever do. The others count as they were before as well:
   * more may have become of them in the same turn. Who goes counts as it was told before, even where its engine can only go deeper than that.
   */
  #isNeeded({ model, from, for: comer, limitMib }: Short): void {
    let most = 0;
    for (const member of this.#scene.theatre.stage.members.values()) {
      if (this.#goesFor.some((fact) => fact.model === member.model)) continue;
      const moves = member.model === comer || (member.part.kind === 'leaving' && member.model !== model);
      const before = this.#before.get(member.model)?.mib ?? 0;
      const told = member.model === model ? this.#at(from, member) : 0;
      most += moves ? this.#mostOf(member) : Math.max(before, told, this.#heldBy(member));
    }
    must(most > limitMib, `${model} goes deeper for ${comer}, and there is room without it`);
  }

  #measuredOf(member: Member): Map<SleepLevel, number> {
    const known = this.#measured.get(member) ?? new Map<SleepLevel, number>();
    this.#measured.set(member, known);
    return known;
  }

  #mostOf(member: Member): number {
    return Math.max(...DEPTH.filter(holds).map((level) => this.#at(level, member)));
  }

  /** What all its engines hold at a level, as far as it is known. */
  #at(level: SleepLevel, member: Member): number {
    return member.phases.size * (this.#measuredOf(member).get(level) ?? member.terms.hostMib ?? 0);
  }

  settled(): void {
    const { hostLimitMib: limit } = this.#scene.plan.extras;
    if (limit === undefined) return;
    const members = [...this.#scene.theatre.stage.members.values()];
    const sum = members.reduce((mib, member) => mib + this.#heldBy(member), 0);
    must(sum <= limit, `sleepers hold ${sum} MiB of host memory, and may hold ${limit}`);
    this.#before = new Map(
      members.map((member) => [
        member.model,
        { mib: this.#heldBy(member), since: member.quietSince ?? Number.POSITIVE_INFINITY },
      ]),
    );
  }

  #heldBy(member: Member): number {
    if (member.part.kind !== 'out' && member.part.kind !== 'leaving') return 0;
    const mib = (engine: EngineId): number => {
      const level = endOf(this.#scene.theatre.engine(engine));
      return holds(level) ? (this.#measuredOf(member).get(level) ?? member.terms.hostMib ?? 0) : 0;
    };
    return [...member.phases.keys()].reduce((sum, engine) => sum + mib(engine), 0);
  }
}

const holds = (level: SleepLevel): boolean => level === 1 || level === 3 || level === 'hybrid';

/** How deep an engine will be, by its own phase and goal. */
function endOf({ phase, goal }: Engine): SleepLevel {
  const wanted = goal.kind === 'asleep' ? goal.level : 5;
  if (phase.kind === 'asleep' || phase.kind === 'falling-asleep')
    return DEPTH[Math.max(DEPTH.indexOf(wanted), DEPTH.indexOf(phase.level))] ?? 5;
  return phase.kind === 'awake' || phase.kind === 'starting' || phase.kind === 'waking' ? wanted : 5;
}
