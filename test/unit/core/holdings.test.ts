import { describe, test } from 'vitest';
import { Commons } from '../../../src/core/commons.ts';
import { Costs } from '../../../src/core/costs.ts';
import type { EngineGoal, EnginePhase } from '../../../src/core/engine.ts';
import { engineId, millis, modelId, ticketId, type ModelId, type SleepLevel } from '../../../src/core/kinds.ts';
import type { ModelTerms } from '../../../src/core/terms.ts';
import { fifo } from '../../../src/core/policy/fifo.ts';
import { Stage } from '../../../src/core/stage.ts';
import type { StageEffect, StageEvent, StageOptions } from '../../../src/core/stage-events.ts';

const [a, b, c] = [modelId('a'), modelId('b'), modelId('c')];
const RULES = { policy: fifo, drains: true, drainMs: 5_000, minActiveMs: 0, priorityStepMs: 0 };

type Said = Partial<Pick<ModelTerms, 'naps' | 'hostMib' | 'sleepLevel' | 'costs'>>;

const termsOf = (model: ModelId, said: Said): ModelTerms => ({
  model,
  engines: [engineId(model, 0)],
  replicas: 1,
  cost: 1,
  targetInflight: 4,
  maxWaiting: 9,
  patienceMs: 60_000,
  sleepLevel: 1,
  naps: [1, 2],
  ...said,
});

/** A stage whose engines do at once what they are told. */
class Prompt {
  readonly #stage: Stage;
  readonly #options: Omit<StageOptions, 'capacity'>;
  readonly goals: string[] = [];
  #now = 0;
  #orders = 0;

  constructor(models: readonly ModelTerms[], hostLimitMib: number | undefined, commons = new Commons()) {
    this.#options = { ...RULES, models, hostLimitMib, commons };
    this.#stage = new Stage({ ...this.#options, capacity: models.length });
  }

  levelOf(model: ModelId): SleepLevel | undefined {
    return this.#stage.members.get(model)?.level;
  }

  /** Wakes it, and puts it away. */
  use(model: ModelId, hostMib?: number, level: SleepLevel = 1): void {
    this.#do({ kind: 'load-asked', order: this.#order(), model, as: 'load', fresh: false, replicas: undefined });
    this.#do({ kind: 'unload-asked', order: this.#order(), model, level, hold: false }, hostMib);
  }

  limit(hostLimitMib: number): void {
    this.#do({ kind: 'models-set', options: { ...this.#options, hostLimitMib }, anew: [] });
  }

  #order() {
    return ticketId(++this.#orders);
  }

  #do(event: StageEvent, hostMib?: number): void {
    this.#now += 1_000;
    const now = millis(this.#now);
    const mail: StageEvent[] = [event];
    for (let next = mail.shift(); next !== undefined; next = mail.shift())
      for (const effect of this.#stage.handle(next, now)) mail.push(...this.#carryOut(effect, hostMib));
  }

  *#carryOut(effect: StageEffect, hostMib: number | undefined): Generator<StageEvent> {
    if (effect.kind !== 'set-goal') return;
    const { engine, goal } = effect;
    const model = [...this.#stage.members.keys()].find((one) => engineId(one, 0) === engine) ?? a;
    this.goals.push(`${model} ${goal.kind === 'asleep' ? goal.level : goal.kind}`);
    yield {
      kind: 'engine-moved',
      engine,
      model,
      phase: phaseFor(goal, millis(this.#now)),
      took: { actMs: 1, proofMs: 0, hostMib },
    };
  }
}

function phaseFor(goal: EngineGoal, since: ReturnType<typeof millis>): EnginePhase {
  if (goal.kind === 'off') return { kind: 'off' };
  return goal.kind === 'awake' ? { kind: 'awake', since } : { kind: 'asleep', level: goal.level, since };
}

describe('host memory of sleepers', () => {
  test('is as much as they like without a limit', ({ expect }) => {
    const stage = new Prompt([termsOf(a, { hostMib: 900 }), termsOf(b, { hostMib: 900 })], undefined);
    stage.use(a);
    stage.use(b);
    expect([stage.levelOf(a), stage.levelOf(b)]).toEqual([1, 1]);
  });

  test('is freed by the one that was not used for longest, and by no more than have to', ({ expect }) => {
    const stage = new Prompt(
      [a, b, c].map((model) => termsOf(model, { hostMib: 5 })),
      10,
    );
    for (const model of [a, b, a, c]) stage.use(model);
    expect([stage.levelOf(a), stage.levelOf(b), stage.levelOf(c)]).toEqual([1, 2, 1]);
    expect(stage.goals.slice(-2)).toEqual(['b 2', 'c 1']);
  });

  test('counts as it was measured, from then on', ({ expect }) => {
    const stage = new Prompt([termsOf(a, {}), termsOf(b, { hostMib: 100 })], 10);
    stage.use(a, 4);
    stage.use(b, 6);
    expect([stage.levelOf(a), stage.levelOf(b)]).toEqual([1, 2]);
    stage.use(a, 11);
    expect(stage.levelOf(a)).toBe(2);
  });

  test('counts as an earlier catnap has measured it', ({ expect }) => {
    const earlier = new Costs();
    earlier.held(1, 11);
    const stage = new Prompt([termsOf(a, { hostMib: 1, costs: earlier.save() })], 10);
    stage.use(a);
    expect(stage.levelOf(a)).toBe(2);
  });

  test('that is not there at all ends a model with no deeper level', ({ expect }) => {
    const stage = new Prompt([termsOf(a, { hostMib: 11, naps: [1, 3] })], 10);
    stage.use(a);
    expect(stage.goals).toEqual(['a awake', 'a off']);
  });

  test('is one limit for all stages', ({ expect }) => {
    const commons = new Commons();
    const one = new Prompt([termsOf(a, { hostMib: 6 })], 10, commons);
    const other = new Prompt([termsOf(b, { hostMib: 6 })], 10, commons);
    one.use(a);
    other.use(b);
    expect([one.levelOf(a), other.levelOf(b)]).toEqual([1, 2]);
  });

  test('is less at once when another config says so', ({ expect }) => {
    const stage = new Prompt(
      [a, b].map((model) => termsOf(model, { hostMib: 5 })),
      10,
    );
    stage.use(a);
    stage.use(b);
    stage.limit(5);
    expect([stage.levelOf(a), stage.levelOf(b)]).toEqual([2, 1]);
  });
});
