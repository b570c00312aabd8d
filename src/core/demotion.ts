import type { Candidates } from './candidates.ts';
import { isDeeper } from './depth.ts';
import { onlyOperatorsBring } from './doors.ts';
import { Heap } from './heap.ts';
import { after, invariant, millis, soonest, FOREVER, type Millis, type ModelId, type SleepLevel } from './kinds.ts';
import type { Member } from './member.ts';
import type { Mode } from './steering.ts';
import type { Turns } from './turns.ts';

/** One step down of a model that has had nothing to do for so long. */
export type Demotion = { readonly afterMs: number; readonly level: SleepLevel };

type Scene = {
  readonly members: ReadonlyMap<ModelId, Member>;
  readonly mode: Mode;
  /** Whether anything new may begin. */
  readonly begins: boolean;
};
type Watch = { readonly at: Millis; readonly member: Member };

/**
 * When those who have nothing to do go deeper. An awake model goes when nobody is served or waits; a sleeper when nothing else moves on the
 * stage, since one that is being ended takes its room until it is gone, and somebody else could want that.
 * What requests would not bring back stays as it is, since an operator wants it so: models that only operators load, and all in manual mode. So
 * does a model that is kept.
 */
export class Demotions {
  readonly #scene: Scene;
  readonly #stirring: Set<Member>;
  readonly #candidates: Candidates;
  readonly #turns: Turns;
  /** Sleepers with a step before them, the next one first. What is no longer true is found out when it comes up. */
  readonly #watches = new Heap<Watch>((a, b) => a.at < b.at);
  readonly #watched = new Map<Member, Millis>();
  /** In which they were last looked at. It may also change because an order fails. */
  #mode: Mode | undefined;

  constructor(scene: Scene, stirring: Set<Member>, candidates: Candidates, turns: Turns) {
    this.#scene = scene;
    this.#stirring = stirring;
    this.#candidates = candidates;
    this.#turns = turns;
  }

  get dueAt(): Millis | undefined {
    if (!this.#scene.begins) return undefined;
    let due = this.#isCalm ? this.#first()?.at : undefined;
    for (const member of this.#stirring) if (member.part.kind === 'on') due = soonest(due, this.#nextAt(member));
    return due;
  }

  /** To be told of everybody to whom something has happened. */
  note(member: Member, now: Millis): void {
    const busy = member.lane.length > 0 || member.leases.size > 0;
    member.quietSince = busy ? undefined : (member.quietSince ?? now);
    const at = sleeps(member) ? this.#nextAt(member) : undefined;
    if (at === this.#watched.get(member)) return;
    if (at === undefined) this.#watched.delete(member);
    else {
      this.#watched.set(member, at);
      this.#watches.push({ at, member });
    }
  }

  /** Sends off whose step is due: any who are on, or else one of the sleepers. */
  advance(now: Millis): void {
    const { begins, mode, members } = this.#scene;
    if (!begins) return;
    const looked: Iterable<Member> = mode === this.#mode ? this.#stirring : members.values();
    for (const member of looked) this.note(member, now);
    this.#mode = mode;
    const isDue = (member: Member): boolean => (this.#nextAt(member) ?? FOREVER) <= now;
    const due = [...this.#stirring].filter((member) => member.part.kind === 'on' && isDue(member));
    const sleeper = due.length === 0 && this.#isCalm ? this.#first() : undefined;
    if (sleeper !== undefined && sleeper.at <= now) due.push(sleeper.member);
    for (const member of due) {
      const steps = stepsOf(member);
      // Several may have become due at once.
      const step = steps.findLast(({ afterMs }) => quietFrom(member, now) + afterMs <= now) ?? steps[0];
      invariant(step !== undefined, `${member.model} has no step to go`);
      this.#stirring.add(member);
      this.#turns.demote(member, step.level, now);
    }
  }

  /** Whether nobody comes or goes, or is waited for to. */
  get #isCalm(): boolean {
    if (this.#candidates.size > 0) return false;
    for (const { part, lane, atRest } of this.#stirring)
      if (part.kind !== 'on' && (part.kind !== 'out' || lane.length > 0 || !atRest)) return false;
    return true;
  }

  #nextAt(member: Member): Millis | undefined {
    const { quietSince, part } = member;
    const [step] = stepsOf(member);
    if (quietSince === undefined || step === undefined || isKept(member, this.#scene.mode)) return undefined;
    const at = after(quietFrom(member, quietSince), step.afterMs);
    return part.kind === 'on' ? millis(Math.max(at, part.since + this.#turns.minActiveMs)) : at;
  }

  /** The sleeper whose step comes first. */
  #first(): Watch | undefined {
    for (let watch = this.#watches.first; watch !== undefined; watch = this.#watches.first) {
      const { at, member } = watch;
      const isWatch = this.#watched.get(member) === at;
      if (isWatch && sleeps(member) && this.#nextAt(member) === at) return watch;
      this.#watches.take();
      if (isWatch) this.#watched.delete(member);
    }
    return undefined;
  }
}

/** The steps before one that is on or sleeps. */
function stepsOf(member: Member): readonly Demotion[] {
  const { demote = [] } = member.terms;
  if (member.part.kind === 'on') return demote;
  return sleeps(member) ? demote.filter(({ level }) => isDeeper(level, member.lightest)) : [];
}

const quietFrom = ({ part, quietSince }: Member, otherwise: Millis): Millis =>
  millis(Math.max(quietSince ?? otherwise, part.kind === 'on' ? part.since : 0));

const sleeps = ({ part, atRest, gone }: Member): boolean => part.kind === 'out' && atRest && !gone;

const isKept = (member: Member, mode: Mode): boolean =>
  member.terms.keep === true || onlyOperatorsBring(member) || mode.kind === 'manual';
