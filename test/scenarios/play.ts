import { isDeeper } from '../../src/core/depth.ts';
import { defaultEngineRules, type Engine, type EngineCommand, type EngineEvent } from '../../src/core/engine.ts';
import type { EnginePhase, EngineRules } from '../../src/core/engine.ts';
import type { IdleTarget } from '../../src/core/homing.ts';
import { after, engineId, invariant, modelId, ticketId } from '../../src/core/kinds.ts';
import type { EngineId, Millis, ModelId } from '../../src/core/kinds.ts';
import type { ModelTerms } from '../../src/core/terms.ts';
import type { MemoryReading } from '../../src/core/overlap.ts';
import { PRIORITIES, type Place } from '../../src/core/place.ts';
import { POLICY_NAMES } from '../../src/core/policy/index.ts';
import type { Policy } from '../../src/core/policy/policy.ts';
import type { LevelOrder, StageEffect, StageEvent } from '../../src/core/stage-events.ts';
import type { Took } from '../../src/core/swap.ts';
import { realCore } from '../sim/core-under-test.ts';
import { Theatre, type Hooks } from '../sim/theatre.ts';
import { Timeline } from '../sim/timeline.ts';
import { sayEffect } from '../sim/transcript.ts';
import { Line } from './line.ts';

const OVERLAPS = ['mib', 'models'] as const;

type Order = { readonly epoch: number; readonly command: EngineCommand; readonly since: Millis };

/** Carries out the lines of a scenario on the production stage and engines, and writes down what they do. Engines answer when told to. */
export class Play implements Hooks {
  readonly now = (): Millis => this.#timeline.now;
  readonly #timeline = new Timeline();
  readonly #models: ModelTerms[] = [];
  /** What each may be put to, and how it goes deeper. */
  readonly #naps = new Map<ModelId, Pick<EngineRules, 'naps' | 'deepens'>>();
  readonly #tickets = new Map<number, ModelId>();
  /** What each engine has been told and has not answered, and what it was told before that. */
  readonly #orders = new Map<EngineId, Order>();
  readonly #superseded = new Map<EngineId, Order>();
  readonly #alarms = new Map<EngineId | 'stage', () => void>();
  /** Where those who were served stood in line. */
  readonly #places = new Map<number, Place>();
  #stage = new Line('stage');
  #theatre: Theatre | undefined;
  #said: string[] = [];
  #waitingSince: Millis | undefined;

  /** Runs one line; set-up lines come first. */
  run(line: Line): void {
    switch (line.verb) {
      case 'stage':
        invariant(this.#theatre === undefined, 'the stage is set up before the play begins');
        this.#stage = line;
        return;
      case 'model':
        invariant(this.#theatre === undefined, 'models are set up before the play begins');
        this.#models.push(termsOf(line));
        this.#naps.set(modelId(line.word(0)), napsOf(line));
        return;
      case 'wait':
        return this.#wait(line.duration(0));
      case 'suspend':
        return this.#timeline.jump(line.duration(0));
      case 'arrive':
        return this.#arrive(line);
      case 'load':
      case 'switch':
      case 'pin':
        return this.#post({
          kind: 'load-asked',
          order: ticketId(line.number(0)),
          model: modelId(line.word(1)),
          as: line.verb,
          fresh: line.flag('fresh', false),
          replicas: line.option('replicas', 0) || undefined,
          evicts: line.flag('evict', true),
          setsLevel: setsLevel(line),
        });
      case 'mode':
        return this.#post({ kind: 'mode-set', mode: line.word(0) === 'manual' ? 'manual' : 'auto' });
      case 'level':
        return this.#post({ kind: 'level-set', model: modelId(line.word(0)), level: setsLevel(line) ?? null });
      case 'unload':
        return this.#post({
          kind: 'unload-asked',
          order: ticketId(line.number(0)),
          model: modelId(line.word(1)),
          level: line.level('level'),
          hold: line.flag('hold', false),
          setsLevel: setsLevel(line),
        });
      case 'reload':
        return this.#reload(line);
      case 'stand-still':
        return this.#post({ kind: 'standstill-asked' });
      case 'go-on':
        return this.#post({ kind: 'standstill-over' });
      case 'restart':
        return this.#restart(line);
      case 'memory':
        return this.#post({ kind: 'memory-read', reading: this.#reading(line) });
      case 'leave':
        return this.#post({ kind: 'ticket-abandoned', ...this.#ticket(line) });
      case 'settle':
        return this.#post({ kind: 'lease-settled', ...this.#ticket(line) });
      case 'shutdown':
        return this.#post({ kind: 'shutdown-asked', withinMs: line.duration(0) });
      case 'done':
        return this.#each(line, (id) => this.#done(id, line));
      case 'fail':
        return this.#each(line, (id) => this.#fail(id, line.rest, line.text('trouble', '')));
      case 'late-done':
      case 'late-fail':
        return this.#each(line, (id) => this.#lateAnswer(id, line.verb === 'late-done'));
      case 'exit':
        return this.#each(line, (id) => this.#lose(id, 'process-exited', line, 0));
      case 'late-exit':
        return this.#each(line, (id) => this.#lose(id, 'process-exited', line, 1));
      case 'lose-sleep':
        return this.#each(line, (id) => this.#lose(id, 'sleep-lost', line, 0));
      case 'late-lose-sleep':
        return this.#each(line, (id) => this.#lose(id, 'sleep-lost', line, 1));
      case 'unresponsive':
        return this.#each(line, (id) => this.#lose(id, 'unresponsive', line, 0));
      case 'late-unresponsive':
        return this.#each(line, (id) => this.#lose(id, 'unresponsive', line, 1));
      default:
        throw new Error(`no such line: ${line.verb}`);
    }
  }

  /** What was said since the last time. */
  takeSaid(): readonly string[] {
    const said = this.#said;
    this.#said = [];
    return said;
  }

  // --- what the theatre tells

  handled(_event: StageEvent, _effects: readonly StageEffect[]): void {}

  effect(effect: StageEffect): void {
    if (effect.kind === 'grant') this.#places.set(effect.ticket, effect.place);
    this.#say(sayEffect(effect));
  }

  stepped(id: EngineId, before: Engine, engine: Engine): void {
    const order = this.#orders.get(id);
    if (engine.epoch !== before.epoch && order !== undefined) {
      this.#superseded.set(id, order);
      this.#orders.delete(id);
    }
    if (engine.phase !== before.phase) this.#say(`${id} ${sayPhase(before.phase)} -> ${sayPhase(engine.phase)}`);
    this.#alarm(id, this.#playing.engineDueAt(id), () => this.#playing.step(id, { kind: 'time-passed' }));
  }

  command(id: EngineId, epoch: number, command: EngineCommand): void {
    this.#orders.set(id, { epoch, command, since: this.now() });
  }

  settled(): void {
    this.#alarm('stage', this.#playing.stage.dueAt, () => this.#playing.post({ kind: 'time-passed' }));
  }

  // --- what lines do

  get #playing(): Theatre {
    if (this.#theatre !== undefined) return this.#theatre;
    const options = { ...this.#rules(), models: this.#models, capacity: this.#stage.option('capacity', 1) };
    this.#theatre = new Theatre(realCore, options, (model) => this.#rulesOf(model), this);
    return this.#theatre;
  }

  #rules() {
    return {
      drains: this.#stage.flag('drains', true),
      drainMs: this.#stage.time('drain', 600_000),
      minActiveMs: this.#stage.time('min_active', 0),
      cancelsAbandoned: this.#stage.text('abandoned', 'finish') === 'cancel',
      idleTarget: this.#idleTarget(),
      policy: this.#policy(),
      priorityStepMs: this.#stage.time('step', 30_000),
      overlap: OVERLAPS.find((by) => by === this.#stage.text('overlap', '')),
      hostLimitMib: this.#stage.option('host', 0) || undefined,
      commons: new realCore.Commons(this.#stage.option('loads', Number.POSITIVE_INFINITY)),
    };
  }

  /** The config has these models and no others from now on; some of them with other engines. */
  #reload(line: Line): void {
    const names = line.text('models', '').split(',');
    const models = this.#models.filter(({ model }) => names.includes(model));
    const anew = line.text('anew', '').split(',').filter(Boolean).map(modelId);
    this.#post({ kind: 'models-set', options: { ...this.#rules(), models }, anew });
  }

  /** Another catnap takes the engines over, with these models, or with all; some of them with other engines. */
  #restart(line: Line): void {
    const names = line.text('models', this.#models.map(({ model }) => model).join()).split(',');
    const models = this.#models.filter(({ model }) => names.includes(model));
    const anew = line.text('anew', '').split(',').filter(Boolean).map(modelId);
    const capacity = line.option('capacity', this.#stage.option('capacity', 1));
    const { isStill } = this.#playing;
    this.#say(isStill ? 'let go' : 'somebody is on the way');
    if (!isStill) return;
    this.#playing.letGo();
    this.#playing.succeed({ ...this.#rules(), models, capacity }, anew);
  }

  /** `free=12 held=a#0/8,a#1/2`, measured at this moment. */
  #reading(line: Line): MemoryReading {
    const held = line.text('held', '').split(',').filter(Boolean);
    const heldMib = new Map(
      held.map((one) => {
        const [name = '', mib = ''] = one.split('/');
        const engine = this.#playing.engines.find((id) => id === name);
        if (engine === undefined) throw new Error(`there is no ${name}`);
        return [engine, Number(mib)] as const;
      }),
    );
    return { memory: 'gpu', takenAt: this.now(), freeMib: line.option('free', 0), heldMib };
  }

  #idleTarget(): IdleTarget | undefined {
    const model = this.#stage.text('home', '');
    return model === '' ? undefined : { model: modelId(model), afterMs: this.#stage.time('home_after', 60_000) };
  }

  #rulesOf(model: ModelId): EngineRules {
    return { ...defaultEngineRules, ...this.#naps.get(model) };
  }

  #policy(): Policy {
    const name = this.#stage.text('policy', 'fifo');
    const chosen = POLICY_NAMES.find((other) => other === name);
    if (chosen === undefined) throw new Error(`there is no policy ${name}`);
    return realCore.POLICIES[chosen]({
      maxWaitMs: this.#stage.time('max_wait', 30_000),
      coalesceMs: this.#stage.time('coalesce', 2_000),
      amortization: 0.5,
      tickMs: this.#stage.time('tick', 500),
      quantumMs: this.#stage.time('quantum', 2_000),
      servingShare: 0.8,
      holds: this.#stage.flag('hold', true),
    });
  }

  #post(event: StageEvent): void {
    this.#playing.post(event);
  }

  #arrive(line: Line): void {
    const model = modelId(line.word(1));
    const priority = PRIORITIES.find((other) => other === line.text('priority', 'normal'));
    if (priority === undefined) throw new Error('a priority is low, normal or high');
    const before = line.option('back', 0);
    const place = this.#places.get(before);
    if (before > 0 && place === undefined) throw new Error(`request ${before} was never granted`);
    const terms = { priority, bound: line.flag('bound', false), withinMs: line.time('within', 0) || undefined, place };
    for (const number of line.numbers(0)) {
      this.#tickets.set(number, model);
      this.#post({ kind: 'ticket-arrived', ticket: ticketId(number), model, terms });
    }
  }

  #ticket(line: Line): { readonly ticket: ReturnType<typeof ticketId>; readonly model: ModelId } {
    const number = line.number(0);
    const model = this.#tickets.get(number);
    if (model === undefined) throw new Error(`request ${number} has not arrived`);
    return { ticket: ticketId(number), model };
  }

  #wait(ms: number): void {
    const until = after(this.now(), ms);
    void this.#playing;
    this.#waitingSince = this.now();
    this.#timeline.runUntil(until);
    this.#waitingSince = undefined;
  }

  #fail(id: EngineId, reason: string, named: string): void {
    const { epoch } = this.#orderOf(id);
    const trouble = named === 'out_of_memory' ? named : undefined;
    this.#playing.step(id, { kind: 'command-failed', epoch, reason, trouble });
  }

  /** `mib=9`: what it holds in host memory, as measured. */
  #done(id: EngineId, line: Line): void {
    const order = this.#orderOf(id);
    const hostMib = line.option('mib', 0) || undefined;
    const took: Took = { actMs: this.now() - order.since, proofMs: 0, hostMib };
    this.#playing.step(id, { kind: 'command-done', epoch: order.epoch }, took);
  }

  #orderOf(id: EngineId): Order {
    const order = this.#orders.get(id);
    if (order === undefined) throw new Error(`${id} has nothing to do`);
    this.#orders.delete(id);
    return order;
  }

  #lateAnswer(id: EngineId, done: boolean): void {
    const order = this.#superseded.get(id);
    if (order === undefined) throw new Error(`no command of ${id} has been given up`);
    const { epoch } = order;
    const event: EngineEvent = done
      ? { kind: 'command-done', epoch }
      : { kind: 'command-failed', epoch, reason: 'too late' };
    this.#playing.step(id, event);
  }

  /** `earlier` says that it is not about the process that runs now. */
  #lose(id: EngineId, kind: 'process-exited' | 'sleep-lost' | 'unresponsive', line: Line, earlier: number): void {
    const born = this.#playing.engine(id).born - earlier;
    this.#playing.step(id, kind === 'sleep-lost' ? { kind, born } : { kind, born, reason: line.rest });
  }

  /** `a` is every engine of a that has something to do, or all of them; `a#1` is one. */
  #each(line: Line, act: (id: EngineId) => void): void {
    const name = line.word(0);
    const engines = this.#playing.engines.filter((id) => id === name || this.#isOf(id, name));
    if (engines.length === 0) throw new Error(`there is no ${name}`);
    const busy = engines.filter((id) => this.#orders.has(id));
    for (const id of busy.length > 0 ? busy : engines) act(id);
  }

  #isOf(id: EngineId, name: string): boolean {
    return this.#models.some(({ model, engines }) => model === name && engines.includes(id));
  }

  #alarm(key: EngineId | 'stage', at: Millis | undefined, ring: () => void): void {
    this.#alarms.get(key)?.();
    this.#alarms.delete(key);
    if (at !== undefined && Number.isFinite(at)) this.#alarms.set(key, this.#timeline.at(at, ring));
  }

  #say(said: string | undefined): void {
    if (said === undefined) return;
    const time = this.#waitingSince === undefined ? '' : `after ${(this.now() - this.#waitingSince) / 1_000}s: `;
    this.#said.push(`> ${time}${said}`);
  }
}

/** The level is named where it is not the one that was asked for. */
const sayPhase = (phase: EnginePhase): string =>
  (phase.kind === 'falling-asleep' || phase.kind === 'asleep') && phase.instead !== undefined
    ? `${phase.kind}(${phase.level} instead of ${phase.instead.from})`
    : phase.kind;

/** `deepens=yes`: each sleeper can go to any deeper level without waking. */
function napsOf(line: Line): Pick<EngineRules, 'naps' | 'deepens'> {
  const naps = line.levels('naps').filter((level) => level !== 5);
  if (!line.flag('deepens', false)) return { naps };
  return { naps, deepens: Object.fromEntries(naps.map((nap) => [nap, naps.filter((to) => isDeeper(to, nap))])) };
}

/** `sets=2`, `sets=config`. */
function setsLevel(line: Line): LevelOrder | undefined {
  const said = line.text('sets', '');
  return said === '' ? undefined : said === 'config' ? null : line.level('sets');
}

function termsOf(line: Line): ModelTerms {
  const model = modelId(line.word(0));
  const most = line.option('replica_max', line.option('replicas', 1));
  return {
    model,
    engines: Array.from({ length: most }, (_, replica) => engineId(model, replica)),
    replicas: line.option('replicas', 1),
    shut: line.flag('explicit', false)
      ? 'model_not_loaded'
      : line.flag('disabled', false)
        ? 'model_disabled'
        : undefined,
    cost: line.option('each', 0) * line.option('replicas', 1) || line.option('cost', 1),
    costEach: line.option('each', 0) || undefined,
    keep: line.flag('keep', false),
    targetInflight: line.option('target', 32),
    maxWaiting: line.option('max_waiting', 1_000),
    patienceMs: line.time('patience', 60_000),
    sleepLevel: line.level('level'),
    demote: line.steps('demote'),
    naps: napsOf(line).naps,
    freezesAt: line.levels('freezes').find((level) => level !== 5),
    hostMib: line.option('host', 0) || undefined,
    needs: line.option('needs', 0) === 0 ? undefined : { gpu: line.option('needs', 0) },
  };
}
