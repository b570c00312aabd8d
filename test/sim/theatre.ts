import type { Engine, EngineCommand, EngineEvent, EngineRules } from '../../src/core/engine.ts';
import { invariant, type EngineId, type Millis, type ModelId } from '../../src/core/kinds.ts';
import type { Stage } from '../../src/core/stage.ts';
import type { ModelTerms } from '../../src/core/terms.ts';
import type { StageEffect, StageEvent, StageOptions } from '../../src/core/stage-events.ts';
import type { Took } from '../../src/core/swap.ts';
import type { CoreUnderTest } from './core-under-test.ts';
import { handedMember } from './successor.ts';

/** What the theatre's owner sees and does. The owner is the clock, the hardware and the clients. */
export type Hooks = {
  readonly now: () => Millis;
  /** The stage has handled the event; its effects are about to be carried out, each announced by `effect`. */
  handled(event: StageEvent, effects: readonly StageEffect[]): void;
  effect(effect: StageEffect): void;
  stepped(engine: EngineId, before: Engine, after: Engine, event: EngineEvent): void;
  command(engine: EngineId, epoch: number, command: EngineCommand): void;
  /** Nothing is left to be handled in this turn. */
  settled(): void;
};

type Seat = { readonly id: EngineId; readonly model: ModelId; readonly rules: EngineRules; engine: Engine };

/** The production stage and engines, wired as their owners wire them: a mailbox, goals handed on at once, moves told to the stage. */
export class Theatre {
  #stage: Stage;
  readonly #core: CoreUnderTest;
  readonly #hooks: Hooks;
  readonly #seats = new Map<EngineId, Seat>();
  readonly #rules: (model: ModelId) => EngineRules;
  readonly #mail: StageEvent[] = [];
  #handling = false;
  #isToStand = false;
  #standsStill = false;

  constructor(core: CoreUnderTest, options: StageOptions, rules: (model: ModelId) => EngineRules, hooks: Hooks) {
    this.#core = core;
    this.#hooks = hooks;
    this.#rules = rules;
    this.#stage = new core.Stage(options);
    this.#seat(options.models);
  }

  get stage(): Stage {
    return this.#stage;
  }

  /** Whether the stage stands still, and no engine is on its way anywhere. */
  get isStill(): boolean {
    const rests = ({ engine }: Seat): boolean => engine.phase.kind === 'awake' || this.#core.atRest(engine.phase);
    return this.stage.isStill && [...this.#seats.values()].every(rests);
  }

  /** Whether it was told to stand still, and has not been told that it is over. */
  get isToStand(): boolean {
    return this.#isToStand;
  }

  /** The same, and nobody has been suspended any more since. */
  get standsStill(): boolean {
    return this.#standsStill;
  }

  letGo(): void {
    this.post({ kind: 'let-go' });
  }

  /** Another one takes the place of a stage that has let go. Gives those engines that go on. */
  succeed(options: StageOptions, anew: readonly ModelId[]): ReadonlySet<EngineId> {
    const { mode, members } = this.stage;
    const running = new Set<EngineId>();
    for (const seat of this.#seats.values()) {
      const { phase } = seat.engine;
      const goesOn = phase.kind === 'awake' || phase.kind === 'asleep';
      if (goesOn) running.add(seat.id);
      seat.engine = goesOn ? this.#core.handedEngine(phase, this.#hooks.now()) : this.#core.newEngine;
    }
    const models = Array.from(members.values(), (member) => handedMember(member, (id) => this.engine(id)));
    this.#stage = new this.#core.Stage(options);
    this.#isToStand = this.#standsStill = false;
    this.#seat(options.models);
    this.post({ kind: 'handed-over', mode, models, anew });
    return running;
  }

  get engines(): readonly EngineId[] {
    return [...this.#seats.keys()];
  }

  engine(id: EngineId): Engine {
    return this.#find(id).engine;
  }

  engineDueAt(id: EngineId): Millis | undefined {
    return this.#core.engineDueAt(this.engine(id));
  }

  atRest(id: EngineId): boolean {
    return this.#core.atRest(this.engine(id).phase);
  }

  /** An event for the stage. What is posted while one is handled waits its turn. */
  post(event: StageEvent): void {
    this.#mail.push(event);
    if (this.#handling) return;
    this.#handling = true;
    try {
      for (let next = this.#mail.shift(); next !== undefined; next = this.#mail.shift()) this.#handle(next);
    } finally {
      this.#handling = false;
    }
    this.#hooks.settled();
  }

  /** An event for an engine. */
  step(id: EngineId, event: EngineEvent, took?: Took): void {
    const seat = this.#find(id);
    const before = seat.engine;
    const { engine, effects } = this.#core.stepEngine(before, event, this.#hooks.now(), seat.rules);
    seat.engine = engine;
    this.#hooks.stepped(id, before, engine, event);
    for (const { epoch, command } of effects) this.#hooks.command(id, epoch, command);
    if (engine.phase === before.phase) return;
    this.post({ kind: 'engine-moved', engine: id, model: seat.model, phase: engine.phase, took });
  }

  /** For every engine. Some of them may be dismissed by what becomes of the others. */
  timePasses(): void {
    for (const id of this.engines) if (this.#seats.has(id)) this.step(id, { kind: 'time-passed' });
  }

  #stand(): void {
    this.#standsStill ||= this.#isToStand && [...this.stage.members.values()].every(({ frozen }) => frozen.size === 0);
  }

  #handle(event: StageEvent): void {
    if (event.kind === 'standstill-asked') this.#isToStand = true;
    if (event.kind === 'standstill-over') this.#isToStand = this.#standsStill = false;
    this.#stand();
    if (event.kind === 'models-set') this.#seat(event.options.models);
    const effects = this.stage.handle(event, this.#hooks.now());
    this.#stand();
    this.#hooks.handled(event, effects);
    for (const effect of effects) {
      this.#hooks.effect(effect);
      if (effect.kind === 'set-goal')
        this.step(effect.engine, { kind: 'goal-set', goal: effect.goal, atOnce: effect.atOnce });
      if (effect.kind === 'load-over') this.post({ kind: 'time-passed' });
      if (effect.kind === 'dismissed') for (const id of effect.engines) this.#seats.delete(id);
    }
  }

  #seat(models: readonly ModelTerms[]): void {
    for (const { model, engines } of models) {
      const rules = this.#rules(model);
      for (const id of engines)
        if (!this.#seats.has(id)) this.#seats.set(id, { id, model, rules, engine: this.#core.newEngine });
    }
  }

  #find(id: EngineId): Seat {
    const seat = this.#seats.get(id);
    invariant(seat !== undefined, `there is no engine ${id}`);
    return seat;
  }
}
