import type { Fact } from '../../../src/core/facts.ts';
import type { ModelId } from '../../../src/core/kinds.ts';
import type { Member } from '../../../src/core/member.ts';
import type { StageEffect } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { memberOf, ROUNDING, trulyAtRest, type Checker, type Scene } from './checker.ts';

type Short = Extract<Fact, { readonly kind: 'start-short-of-memory' }>;

/** A start that ran out of memory is tried once more, and not again, when somebody can make room; nobody does who must not. */
export class MoreRoomChecker implements Checker {
  readonly #scene: Scene;
  /** For whom each swap is, and who was asked to make room when its start was tried once more. */
  readonly #tried = new Map<number, readonly ModelId[]>();
  /** The swaps in which somebody came in while others left, and of those that failed at it, beside whom. */
  readonly #beside = new Set<number>();
  readonly #alone = new Map<number, readonly ModelId[]>();
  /** Who slept where something is left on the GPU when the last step ended. */
  #sleepers: ReadonlySet<Member> = new Set();
  /** Who was on the way out then: whoever is sent off later in the same turn is not waited for. */
  readonly #leaving = new Set<ModelId>();
  /** The swap by which each was coming in then. */
  readonly #coming = new Map<ModelId, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  effect(effect: StageEffect): void {
    if (effect.kind === 'set-goal' && effect.goal.kind === 'awake') this.#comes(effect.engine);
    if (effect.kind === 'reject' && effect.failure?.trouble === 'out_of_memory') this.#isTold(effect.model);
    if (effect.kind !== 'tell') return;
    if (effect.fact.kind === 'swap-overlaps') this.#beside.add(effect.fact.swap);
    if (effect.fact.kind === 'start-short-of-memory') this.#short(effect.fact);
  }

  settled(): void {
    const members = [...this.#scene.theatre.stage.members.values()];
    this.#coming.clear();
    this.#leaving.clear();
    for (const { model, part, swap } of members) {
      if (part.kind === 'entering' && swap !== undefined) this.#coming.set(model, swap.id);
      if (part.kind === 'draining' || part.kind === 'leaving') this.#leaving.add(model);
    }
    this.#sleepers = new Set(members.filter((member) => this.#keepsGpu(member)));
  }

  #short({ model, from }: Short): void {
    const { swap, part, lane } = memberOf(this.#scene, model);
    // Whoever waited for it may have run out of time at that moment: then nobody has to go.
    if (part.kind === 'out' && lane.length === 0) return;
    must(part.kind === 'summoned', `${model} is started once more and is ${part.kind}`);
    if (swap !== undefined && this.#beside.delete(swap.id)) return this.#again(swap.id, model, from);
    if (swap !== undefined) {
      must(!this.#tried.has(swap.id), `${model} is started a third time`);
      this.#tried.set(swap.id, from);
    }
    must(from.length > 0, `${model} is started once more, and nobody makes room`);
    for (const name of from) {
      const other = memberOf(this.#scene, name);
      const goes = other.part.kind === 'leaving' || other.part.kind === 'draining';
      must(name !== model && !this.#stays(other), `${name} has to make room for ${model}`);
      const on = other.part.kind === 'draining' ? other.part.was.since : undefined;
      const active = on === undefined || this.#scene.now() - on >= this.#scene.plan.minActiveMs - ROUNDING;
      must(active, `${name} has to make room for ${model} and has just come`);
      must(goes, `${name} is to make room for ${model} and is ${other.part.kind}`);
    }
    for (const sleeper of this.#sleepers) {
      const may = sleeper.model !== model && !this.#stays(sleeper) && sleeper.part.kind === 'out';
      must(!may || from.includes(sleeper.model), `${sleeper.model} sleeps on the GPU and makes no room for ${model}`);
    }
  }

  /** It came in while others left. Once it comes alone it may be short of memory again. */
  #again(swap: number, model: ModelId, from: readonly ModelId[]): void {
    this.#alone.set(swap, from);
    const members = [...this.#scene.theatre.stage.members.values()];
    for (const other of members) {
      const leaves = other.part.kind === 'leaving';
      must(leaves === from.includes(other.model), `${other.model} is ${other.part.kind}, and ${model} comes again`);
    }
  }

  /** Not before those who make room have gone. */
  #comes(engine: string): void {
    const members = [...this.#scene.theatre.stage.members.values()];
    const comer = members.find(({ terms }) => terms.engines.some((one) => one === engine));
    const swap = comer?.swap?.id ?? 0;
    // Whether it comes in beside others is told after this, each time anew.
    this.#beside.delete(swap);
    const from = [...(this.#tried.get(swap) ?? []), ...(this.#alone.get(swap) ?? [])];
    for (const name of from) {
      // One that the config has no more may have been forgotten since.
      const kind = this.#scene.theatre.stage.members.get(name)?.part.kind;
      const goes = (kind === 'draining' || kind === 'leaving') && this.#leaving.has(name);
      must(!goes, `${comer?.model} is started once more while ${name} is ${kind}`);
    }
    // Who has gone for it then may have come and be going again by the time it is short of memory once more.
    this.#alone.delete(swap);
  }

  /** Whoever is told that there is too little memory has been told after a second try, or nobody could make room. */
  #isTold(model: ModelId): void {
    const swap = this.#coming.get(model);
    if (swap === undefined || this.#tried.has(swap) || memberOf(this.#scene, model).terms.cost === 0) return;
    const able = [...this.#sleepers].filter(
      (other) => other.model !== model && other.part.kind === 'out' && !this.#stays(other),
    );
    must(able.length === 0, `${model} was given up, and ${able[0]?.model} could have made room`);
  }

  #stays({ model, terms }: Member): boolean {
    const { mode } = this.#scene.theatre.stage;
    return terms.keep === true || terms.cost === 0 || (mode.kind === 'manual' && mode.pinned === model);
  }

  #keepsGpu(member: Member): boolean {
    const { part, lightest } = member;
    return part.kind === 'out' && trulyAtRest(this.#scene, member) && (lightest === 1 || lightest === 2);
  }
}
