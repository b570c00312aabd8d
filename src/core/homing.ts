import type { StageSight } from './cast.ts';
import { onlyOperatorsBring } from './doors.ts';
import { after, type Millis, type ModelId } from './kinds.ts';
import { makeRoom } from './leavers.ts';
import type { Member } from './member.ts';
import { latest, mayLeaveAt } from './policy/leaving.ts';
import { stay, type Decision } from './policy/policy.ts';
import type { Mode } from './steering.ts';

/** The model that a stage returns to once nobody has wanted anything of it for so long. */
export type IdleTarget = { readonly model: ModelId; readonly afterMs: number };

type Scene = {
  readonly target: IdleTarget | undefined;
  readonly members: ReadonlyMap<ModelId, Member>;
  readonly mode: Mode;
  /** Whether it may go. */
  readonly begins: boolean;
  readonly now: Millis;
};

/**
 * When a stage with nothing to do goes home. Once in each time of idleness: what then becomes of the model, by its own idleness, by its failure or by an
 * operator, stays as it is until somebody wants something again. Never in manual mode, and nobody goes for it whom only an operator brings back.
 */
export class Homing {
  /** Since when nobody waits or is served. */
  #since: Millis | undefined;
  #wasHome = false;

  /** Somebody waits. */
  disturb(): void {
    this.#since = undefined;
    this.#wasHome = false;
  }

  /** To be asked while there are no candidates. */
  ask({ target, members, mode, begins, now }: Scene, stirring: Iterable<Member>, sight: () => StageSight): Decision {
    let calm = true;
    for (const { lane, leases, part, atRest } of stirring) {
      if (lane.length > 0 || leases.size > 0) {
        this.disturb();
        return stay;
      }
      calm &&= part.kind === 'on' || (part.kind === 'out' && atRest);
    }
    this.#since ??= now;
    if (!begins) return stay;
    const home = target && members.get(target.model);
    if (home === undefined || home.departs) return stay;
    this.#wasHome ||= home.part.kind === 'on';
    if (this.#wasHome || !calm || mode.kind === 'manual' || onlyOperatorsBring(home)) return stay;
    const leavers = makeRoom(sight(), home);
    const isKept = (model: ModelId): boolean => {
      const member = members.get(model);
      return member !== undefined && onlyOperatorsBring(member);
    };
    if (leavers === undefined || leavers.some(({ model }) => isKept(model))) return stay;
    const at = latest([
      after(this.#since, target?.afterMs ?? 0),
      home.retryAt(now)?.at ?? now,
      leavers.length === 0 ? now : mayLeaveAt(leavers, sight()),
    ]);
    if (now < at) return { kind: 'look-again', at };
    this.#wasHome = true;
    return { kind: 'swap', to: home.model, evict: leavers.map(({ model }) => model), batch: 'none' };
  }
}
