import { doorOf } from './doors.ts';
import type { EngineGoal } from './engine.ts';
import type { CutCode, RefusalCode } from './errors.ts';
import type { EngineId, Millis, ModelId, TicketId } from './kinds.ts';
import type { Member } from './member.ts';
import type { Failure } from './restart.ts';
import type { StageEffect } from './stage-events.ts';
import { Steering } from './steering.ts';

type Hope = { readonly retryAt?: Millis | undefined; readonly failure?: Failure };

/** What one event leads to, in order. An order that is answered here is settled in the steering as well. */
export class Replies {
  readonly steering = new Steering();
  #effects: StageEffect[] = [];

  /** Those of an earlier event are not wanted any more. */
  begin(): void {
    this.#effects = [];
  }

  get effects(): readonly StageEffect[] {
    return this.#effects;
  }

  push(effect: StageEffect): void {
    this.#effects.push(effect);
  }

  reject(ticket: TicketId, model: ModelId, code: RefusalCode, reason: string, more?: Hope): void {
    this.push({ kind: 'reject', ticket, model, code, reason, ...more });
    this.steering.failed(ticket);
  }

  /** Those that were put away with their engine will not go on. */
  lose(member: Member, code: CutCode, reason: string): void {
    if (member.frozen.size === 0) return;
    const tickets = [...member.frozen.keys()];
    member.frozen.clear();
    member.lane.takeFrozen();
    this.cut(member, tickets, code, reason);
  }

  rejectAll(member: Member, code: RefusalCode, reason: string, more?: Hope): void {
    this.lose(member, code === 'shutting_down' ? code : 'drained', reason);
    for (const { ticket } of member.lane.takeAll()) this.reject(ticket, member.model, code, reason, more);
  }

  /** Nobody waits for a model that only an operator would bring back. */
  shutDoor(member: Member): void {
    const { part, lane } = member;
    if ((part.kind !== 'out' && part.kind !== 'leaving') || lane.length === 0 || lane.hasLoad) return;
    const door = doorOf(member, this.steering.mode);
    if (door !== undefined) this.rejectAll(member, door.code, door.reason);
  }

  /** In the pause after a failure whoever waits is told at once; whoever comes after it tries again. */
  tellOfFailure(member: Member, now: Millis): void {
    const failed = member.lane.length > 0 && !member.lane.hasLoad ? member.retryAt(now) : undefined;
    if (failed === undefined) return;
    const { at: retryAt, failure } = failed;
    this.rejectAll(member, 'engine_failed', failure.reason, { retryAt, failure });
  }

  refuseBound(ticket: TicketId, model: ModelId): void {
    this.reject(ticket, model, 'model_not_loaded', `${model} is not awake, and nobody is put away for this request`);
  }

  done(order: TicketId, { model }: Pick<Member, 'model'>): void {
    this.steering.done(order);
    this.push({ kind: 'order-done', order, model });
  }

  cut(member: Member, leases: readonly TicketId[], code: CutCode, reason: string, mayReturn = false): void {
    const { model } = member;
    const tickets = member.toCut(leases);
    if (tickets.length === 0) return;
    this.push({ kind: 'cut', tickets, model, code, reason, mayReturn });
    this.push({ kind: 'tell', fact: { kind: 'leases-cut', model, count: tickets.length, code } });
  }

  setGoal(engines: Iterable<EngineId>, goal: EngineGoal, atOnce: boolean): void {
    for (const engine of engines) this.push({ kind: 'set-goal', engine, goal, atOnce });
  }
}
