import type { PartKind } from '../../../src/core/cast.ts';
import type { EngineId } from '../../../src/core/kinds.ts';
import type { Member } from '../../../src/core/member.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { describe, loadsAreTaken, trulyAtRest, type Checker, type Scene } from './checker.ts';

/** The stage never stands still while something could move, and its picture of the engines is the true one. */
export class ProgressChecker implements Checker {
  readonly #scene: Scene;
  /** Engines that had died when their model changed hands, and which it drains without. */
  #lost = new Set<EngineId>();

  #stoodStill = false;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(event: StageEvent): void {
    const { standsStill } = this.#scene.theatre;
    if (standsStill && !this.#stoodStill) this.#nobodyIs('summoned');
    this.#stoodStill = standsStill;
    if (event.kind === 'let-go') this.#nobodyIs('entering');
    if (event.kind !== 'handed-over') return;
    const { theatre } = this.#scene;
    const draining = [...theatre.stage.members.values()].filter(({ part }) => part.kind === 'draining');
    const engines = draining.flatMap(({ terms }) => terms.engines);
    this.#lost = new Set(engines.filter((engine) => theatre.atRest(engine)));
  }

  effect({ kind }: StageEffect): void {
    must(kind !== 'freeze' || !this.#scene.theatre.isToStand, 'requests are suspended, and another catnap is to come');
  }

  /** Before others take over. */
  #nobodyIs(kind: PartKind): void {
    for (const { model, part } of this.#scene.theatre.stage.members.values())
      must(part.kind !== kind, `${model} is ${kind}, and another catnap is to have it`);
  }

  settled(): void {
    const { theatre, now } = this.#scene;
    const due = theatre.stage.dueAt;
    must(due === undefined || due > now(), () => `the stage is due at ${due} and it is ${now()}`);
    const members = [...theatre.stage.members.values()];
    for (const member of members) {
      this.#sees(member);
      this.#serves(member);
      this.#goesOn(member);
    }
    this.#summonedWaitForSomething(members);
  }

  #sees(member: Member): void {
    const { theatre, book } = this.#scene;
    const { model, part } = member;
    const isIn = part.kind === 'entering' || part.kind === 'on' || part.kind === 'draining';
    for (const engine of member.terms.engines) {
      if (part.kind !== 'draining') this.#lost.delete(engine);
      const wanted = isIn && !this.#lost.has(engine) && member.engines.includes(engine);
      const { phase, goal } = theatre.engine(engine);
      const seen = member.phases.get(engine)?.kind;
      must(seen === phase.kind, `the stage takes ${engine} for ${seen} and it is ${phase.kind}`);
      must((goal.kind === 'awake') === wanted, `${model} is ${part.kind} and the goal of ${engine} is ${goal.kind}`);
    }
    const { length } = book.waiting(model);
    must(member.lane.length === length, `${model} has lost count of who waits`);
    const come = book.waiting(model).filter(({ back, kind }) => !back && kind !== 'frozen').length;
    must(come <= member.terms.maxWaiting, `${come} wait for ${model}, which is more than max_waiting`);
  }

  #serves(member: Member): void {
    const { lane, part, model } = member;
    if (part.kind === 'on') must(member.anyAwake, `${model} is on and none of its engines is awake`);
    if (part.kind !== 'on' && part.kind !== 'draining') return;
    const first = part.kind === 'draining' ? lane.firstOf(part.batch) : lane.first;
    if (first === undefined) return;
    const full = first.kind === 'request' ? member.freeEngine() === undefined : !member.anyAwake;
    must(full, `${first.ticket} could be served by ${model} and is not`);
  }

  #goesOn(member: Member): void {
    const { part, leases, model, lane } = member;
    const rests = trulyAtRest(this.#scene, member);
    if (part.kind === 'draining') must(leases.size > 0, `${model} drains and has no lease`);
    if (part.kind === 'draining') must(member.anyAwake, `${model} drains and none of its engines is awake`);
    if (part.kind === 'leaving') must(leases.size > member.frozen.size || !rests, `${model} is leaving and has left`);
    // One that was cut while it was suspended is open until its owner has heard of it.
    const open = member.terms.freezesAt === undefined ? [...leases.keys()] : member.uncut;
    const served = open.filter((ticket) => !member.frozen.has(ticket));
    if (part.kind === 'out') must(served.length === 0, `${model} is out and has open leases`);
    if (!this.#scene.book.unloading(model)) return;
    must(lane.length === 0, `${model} is being put away, and somebody waits for it`);
    must(part.kind === 'draining' || part.kind === 'leaving' || !rests, `${model} is put away and nobody was told`);
  }

  #summonedWaitForSomething(members: readonly Member[]): void {
    if (!members.some(({ part }) => part.kind === 'summoned')) return;
    const going = members.some((member) => {
      const { kind } = member.part;
      const clearing = (kind === 'out' || kind === 'summoned') && !trulyAtRest(this.#scene, member);
      return kind === 'draining' || kind === 'leaving' || clearing;
    });
    must(
      going || this.#scene.theatre.standsStill || loadsAreTaken(this.#scene),
      () => `somebody is summoned, and nobody goes to make room: ${describe(this.#scene)}`,
    );
  }
}
