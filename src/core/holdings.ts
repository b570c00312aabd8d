import type { Commons, HostMemory } from './commons.ts';
import { DEPTH, isDeeper } from './depth.ts';
import type { EngineGoal, EnginePhase } from './engine.ts';
import type { Millis, ModelId, SleepLevel } from './kinds.ts';
import { goalForLevel, type Member } from './member.ts';
import type { Replies } from './replies.ts';
import { holdsHost } from './residency.ts';
import type { StageOptions } from './stage-events.ts';

export type Scene = { readonly members: ReadonlyMap<ModelId, Member> };
type Rules = Pick<StageOptions, 'hostLimitMib'>;
type Means = { readonly scene: Scene; readonly stirring: Set<Member>; readonly replies: Replies };
/** Tells another sleeper to go deeper. */
type Deepen = (member: Member, goal: EngineGoal) => void;

/**
 * How much host memory all sleepers may hold together: those that are put away so, or on their way there. What counts is what they are told to
 * become; while one goes deeper it may still hold what another takes already. Without a limit it does nothing.
 */
export class Holdings implements HostMemory {
  #limitMib: number | undefined;
  readonly #scene: Scene;
  readonly #stirring: Set<Member>;
  readonly #commons: Commons;
  readonly #replies: Replies;

  constructor(rules: Rules, commons: Commons, { scene, stirring, replies }: Means) {
    this.#limitMib = rules.hostLimitMib;
    this.#commons = commons;
    this.#scene = scene;
    this.#stirring = stirring;
    this.#replies = replies;
    commons.join(this);
  }

  revise({ hostLimitMib }: Rules): void {
    this.#limitMib = hostLimitMib;
  }

  /**
   * Where a model goes that is to be put away as `goal` says: there, once those that were not used for longest have made room for it; deeper where it
   * does not fit even without them.
   */
  fit(member: Member, goal: EngineGoal, deepen: Deepen): EngineGoal {
    const limitMib = this.#limitMib;
    if (limitMib === undefined || goal.kind !== 'asleep') return goal;
    const mib = heldBy(member, goal);
    // Those who go deeper for others come by here as well, and must not ask others in turn.
    if (mib === 0) return goal;
    const { level: wanted } = goal;
    const left = limitMib - this.#commons.hostMibBeside(this) - this.#frozenMib(member);
    const levels = [wanted, ...deeperOf(member, wanted)];
    const level = levels.find((one) => heldBy(member, goalForLevel(one)) <= left) ?? 5;
    if (level !== wanted) this.#tell(member, { from: wanted, to: level, mib, limitMib, for: member.model });
    const fitting = level === wanted ? goal : goalForLevel(level);
    this.#free(heldBy(member, fitting), member, deepen);
    return fitting;
  }

  /** Whether it can be put away as `goal` says, and nobody who was put away with requests has to go deeper for it. */
  takes(member: Member, goal: EngineGoal): boolean {
    const limitMib = this.#limitMib;
    return (
      limitMib === undefined ||
      heldBy(member, goal) <= limitMib - this.#commons.hostMibBeside(this) - this.#frozenMib(member)
    );
  }

  /** When sleepers hold more than was thought, or more of them stay than was thought, those that were not used for longest go deeper. */
  keep(deepen: Deepen): void {
    this.#free(0, undefined, deepen);
  }

  /** What its sleepers hold, once they are as they are told to be. */
  get mib(): number {
    return this.#beside(undefined);
  }

  #free(mibNeeded: number, comer: Member | undefined, deepen: Deepen): void {
    const limitMib = this.#limitMib;
    if (limitMib === undefined) return;
    let over = this.#commons.hostMibBeside(this) + this.#beside(comer) + mibNeeded - limitMib;
    if (over <= 0) return;
    const sleepers = [...this.#scene.members.values()].filter((member) => member !== comer && heldBy(member) > 0);
    for (const member of sleepers.toSorted((a, b) => quietSince(a) - quietSince(b))) {
      const mib = heldBy(member);
      const from = deepestOf(member);
      const to = deeperOf(member, from).find((level) => !holdsHost(level)) ?? 5;
      this.#tell(member, { from, to, mib, limitMib, for: comer?.model });
      this.#stirring.add(member);
      deepen(member, member.awayTo(to));
      over -= mib;
      if (over <= 0) return;
    }
  }

  /** What others hold that were put away with requests: nobody makes them go deeper by going to sleep. */
  #frozenMib(except: Member): number {
    let mib = 0;
    for (const member of this.#scene.members.values())
      if (member !== except && member.frozen.size > 0) mib += heldBy(member);
    return mib;
  }

  #beside(except: Member | undefined): number {
    let mib = 0;
    for (const member of this.#scene.members.values()) if (member !== except) mib += heldBy(member);
    return mib;
  }

  #tell({ model }: Member, what: Short): void {
    this.#replies.push({ kind: 'tell', fact: { kind: 'host-memory-short', model, ...what } });
  }
}

type Short = {
  readonly from: SleepLevel;
  readonly to: SleepLevel;
  readonly mib: number;
  readonly limitMib: number;
  readonly for: ModelId | undefined;
};

const deeperOf = ({ terms }: Member, level: SleepLevel): readonly SleepLevel[] =>
  DEPTH.filter((one) => isDeeper(one, level) && one !== 5 && terms.naps?.includes(one) === true);

/** One that somebody waits for comes last. */
const quietSince = ({ quietSince: since }: Member): Millis | number => since ?? Number.MAX_VALUE;

/** How much host memory it holds as a sleeper, once its engines are as they are told to be. */
function heldBy(member: Member, goal?: EngineGoal): number {
  return levelsOf(member, goal).reduce((sum: number, level) => sum + member.costs.hostMib(level, member.terms), 0);
}

const deepestOf = (member: Member): SleepLevel =>
  levelsOf(member).reduce((deepest, level) => (isDeeper(level, deepest) ? level : deepest), 1);

/** Where each of its engines holds host memory. One that comes back, or is to, is none of them. */
function levelsOf({ part, phases }: Member, asked?: EngineGoal): readonly SleepLevel[] {
  const isAway = part.kind === 'out' || part.kind === 'leaving';
  if (!isAway && asked === undefined) return [];
  const goal = asked ?? (part.kind === 'leaving' ? part.goal : undefined);
  return [...phases.values()].map((phase) => levelFor(phase, goal)).filter(holdsHost);
}

/** The level at which an engine ends: never lighter than it is. Without a goal it stays as it is. */
function levelFor(phase: EnginePhase, goal: EngineGoal | undefined): SleepLevel {
  const wanted = goal?.kind === 'asleep' ? goal.level : 5;
  switch (phase.kind) {
    case 'asleep':
    case 'falling-asleep':
      return goal !== undefined && isDeeper(wanted, phase.level) ? wanted : phase.level;
    case 'awake':
    case 'starting':
    case 'waking':
      return wanted;
    default:
      return 5;
  }
}
