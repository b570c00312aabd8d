import { describe, test } from 'vitest';
import type { NapLevel } from '../../../src/core/kinds.ts';
import type { Backend, Done, Driver, Order } from '../../../src/engines/driver.ts';
import { DriverError } from '../../../src/engines/driver.ts';
import type { EngineAnswer, EngineCall } from '../../../src/ports/engine-http.ts';
import type { TrialLevel } from '../../../src/ports/verdicts.ts';
import type { Result } from '../../../src/validate/observed.ts';
import { tryLevel } from '../../../src/validate/trial.ts';
import { allWell, validate } from '../../../src/validate/validation.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';

const DONE: Done = { actMs: 10, proofMs: 2 };
const WELL = 'one two three';

/** An engine of one process on one GPU, that goes wrong where a test says so. */
class Engine implements Driver {
  readonly did: string[] = [];
  running: Driver['running'];
  backend: Backend | undefined;
  pid = 41;
  mib = 0;
  wakes = 0;
  /** What it says after so many wakes. */
  says = (_wakes: number): string => WELL;
  hinders: string | undefined;
  onStart = async (): Promise<void> => {};
  onSleep = async (_signal: AbortSignal): Promise<void> => {
    this.mib = 100;
  };
  onWake = async (_signal: AbortSignal): Promise<void> => {
    this.mib = 5_000;
  };
  onStop = async (): Promise<void> => {};

  release(): null {
    return null;
  }

  async adopt(): Promise<void> {}

  async start(): Promise<Done> {
    this.did.push('start');
    await this.onStart();
    this.mib = 5_000;
    this.#rouse();
    return DONE;
  }

  async sleep(level: NapLevel, { signal }: Order): Promise<Done> {
    this.did.push(`sleep ${level}`);
    this.backend = undefined;
    await this.onSleep(signal);
    return DONE;
  }

  async wake(level: NapLevel, { signal }: Order): Promise<Done> {
    this.did.push(`wake ${level}`);
    await this.onWake(signal);
    this.wakes += 1;
    this.#rouse();
    return DONE;
  }

  async stop(): Promise<Done> {
    this.did.push('stop');
    await this.onStop();
    this.running = undefined;
    this.backend = undefined;
    this.mib = 0;
    return DONE;
  }

  members = async (): Promise<readonly number[]> => (this.running === undefined ? [] : [this.running.pid]);
  hindrance = async (): Promise<string | undefined> => this.hinders;
  prove = async (): Promise<boolean> => true;
  tail = (): readonly string[] => [];

  answer({ json }: EngineCall): EngineAnswer {
    const text = this.says(this.wakes);
    if (text === 'nothing at all') return { kind: 'answered', status: 500, body: 'dead' };
    const streams = typeof json === 'object' && json !== null && 'stream' in json;
    const body = streams
      ? `data: ${JSON.stringify({ choices: [{ text }] })}\n\ndata: [DONE]\n\n`
      : JSON.stringify({ choices: [{ text }], usage: { completion_tokens: 64 } });
    return { kind: 'answered', status: 200, body };
  }

  #rouse(): void {
    this.running = { pid: this.pid, port: 1, commandLine: 'engine' };
    this.backend = { origin: 'http://e', servedName: 'e', headers: {}, gone: new AbortController().signal };
  }
}

const LIMITS = { startMs: 1_000, sleepMs: 1_000, wakeMs: 1_000, stopMs: 1_000, answerMs: 1_000, settleMs: 500 };

/** Engines one after the other, on one GPU. */
function scene(engine: Engine, ...others: readonly Engine[]) {
  const engines = [engine, ...others];
  const held = () => engines.filter(({ mib }) => mib > 0);
  const clock = new VirtualClock();
  const told: string[] = [];
  const off = new AbortController();
  const means = {
    clock,
    http: {
      call: async (call: EngineCall) => (engines.find(({ backend }) => backend !== undefined) ?? engine).answer(call),
    },
    gpu: {
      read: async () =>
        ({
          kind: 'read',
          reading: {
            takenAt: clock.now(),
            cameAt: clock.now(),
            devices: [
              {
                uuid: 'g',
                index: 0,
                name: 'g',
                totalMib: 9_000,
                usedMib: held().reduce((sum, { mib }) => sum + mib, 0),
                freeMib: 0,
              },
            ],
            processes: held().map(({ pid, mib }) => ({ pid, uuid: 'g', usedMib: mib })),
          },
        }) as const,
    },
    memory: { of: async (pids: readonly number[]) => ({ count: pids.length, bytes: 1, privateBytes: 1 }) },
    progress: (line: string) => void told.push(line),
    started: async () => undefined,
    imageMib: () => 100,
  };
  /** Lets time go on until it is over. */
  async function run<T>(work: Promise<T>): Promise<T> {
    const state = { over: false };
    const ended = work.finally(() => {
      state.over = true;
    });
    ended.catch(() => {});
    for (let turn = 0; turn < 400 && !state.over; turn += 1) await clock.advance(50);
    return ended;
  }
  const tried = (level: TrialLevel = 1, { named = false, cycles = 2 } = {}): Promise<Result> =>
    run(tryLevel({ level, cycles, limits: LIMITS, driver: engine, named }, means, off.signal));
  return { means, off, told, run, tried };
}

test('each cycle sleeps, is looked at, wakes and answers; then the engine is ended', async ({ expect }) => {
  const engine = new Engine();
  const { tried, told } = scene(engine);
  const result = await tried(2);
  expect(result).toMatchObject({ level: 2, outcome: 'passed', reasons: [] });
  expect(engine.did).toEqual(['start', 'sleep 2', 'wake 2', 'sleep 2', 'wake 2', 'stop']);
  expect(result.observed?.cycles).toHaveLength(2);
  expect(result.observed?.cycles[1]).toMatchObject({
    sleep: DONE,
    wake: DONE,
    answer: { kind: 'match' },
    before: { gpu: { kind: 'own', mib: 5_000 } },
    asleep: { gpu: { kind: 'own', mib: 100 } },
    awake: { gpu: { kind: 'own', mib: 5_000 } },
  });
  expect(told).toContain('level 2: it is woken, cycle 2 of 2');
});

test('level 5 is an end and a start', async ({ expect }) => {
  const engine = new Engine();
  const { tried } = scene(engine);
  expect(await tried(5, { cycles: 1 })).toMatchObject({ outcome: 'passed' });
  expect(engine.did).toEqual(['start', 'stop', 'start', 'stop']);
});

describe('the level is found out', () => {
  test.for<[string, (engine: Engine) => void, RegExp]>([
    [
      'corrupts the answer',
      (e) => (e.says = (wakes) => (wakes === 0 ? WELL : '!!!!')),
      /^cycle 1: it answers differently/,
    ],
    [
      'only the second time',
      (e) => (e.says = (wakes) => (wakes < 2 ? WELL : '!!!!')),
      /^cycle 2: it answers differently/,
    ],
    ['answers nothing', (e) => (e.says = (wakes) => (wakes === 0 ? WELL : '')), /^cycle 1: its answer is empty$/],
    [
      'answers with an error',
      (e) => (e.says = (wakes) => (wakes === 0 ? WELL : 'nothing at all')),
      /does not answer: status 500: dead$/,
    ],
    ['frees nothing', (e) => (e.onSleep = async () => {}), /^cycle 1: its processes still hold 5000 of 5000 MiB/],
    [
      'takes too little back',
      (e) => (e.onWake = async () => void (e.mib = 3_000)),
      /GPU memory went from 5000 to 3000 MiB/,
    ],
    [
      'loses a little each time',
      (e) => (e.onWake = async () => void (e.mib = 5_000 - 100 * (e.wakes + 1))),
      /^cycle 2: GPU memory went from 5000 to 4800/,
    ],
    [
      'comes back as another process',
      (e) => (e.onWake = async () => void ((e.mib = 5_000), (e.pid = 77))),
      /its process was 41 and is 77/,
    ],
    [
      'does not sleep',
      (e) => (e.onSleep = () => Promise.reject(new DriverError('it said no'))),
      /^cycle 1: it could not be put to sleep: it said no$/,
    ],
    ['never comes to sleep', (e) => (e.onSleep = () => new Promise(() => {})), /the sleep took longer than 1 s$/],
    [
      'does not wake',
      (e) => (e.onWake = () => Promise.reject(new DriverError('out of memory'))),
      /^cycle 1: it did not wake: out of memory$/,
    ],
    ['never wakes', (e) => (e.onWake = () => new Promise(() => {})), /the wake took longer than 1 s$/],
  ])('when it %s', async ([, spoil, reason], { expect }) => {
    const engine = new Engine();
    spoil(engine);
    const result = await scene(engine).tried();
    expect(result).toMatchObject({ outcome: 'failed', fault: 'level' });
    expect(result.reasons[0]).toMatch(reason);
    expect(engine.did.at(-1)).toBe('stop');
  });
});

describe('the level is not to blame', () => {
  test('for an engine that never answers the same', async ({ expect }) => {
    const engine = new Engine();
    let count = 0;
    engine.says = () => `${(count += 1)}`;
    const result = await scene(engine).tried();
    expect(result).toMatchObject({ outcome: 'failed', fault: 'engine' });
    expect(result.reasons[0]).toMatch(/does not answer the same twice/);
    expect(engine.did).toEqual(['start', 'stop']);
  });

  test('for one whose answers are empty from the start', async ({ expect }) => {
    const engine = new Engine();
    engine.says = () => ' ';
    expect(await scene(engine).tried()).toMatchObject({
      fault: 'engine',
      reasons: ['the answer of a fresh engine is empty'],
    });
  });

  test('for what it cannot have here: left out, unless somebody named it', async ({ expect }) => {
    const engine = new Engine();
    engine.hinders = 'vLLM 0.15.1 cannot be put to level 1';
    expect(await scene(engine).tried()).toMatchObject({
      outcome: 'skipped',
      fault: 'place',
      reasons: [engine.hinders],
    });
    expect(await scene(engine).tried(1, { named: true })).toMatchObject({ outcome: 'failed', fault: 'place' });
    expect(engine.did).toEqual(['start', 'stop', 'start', 'stop']);
  });

  test('for an engine that cannot be ended', async ({ expect }) => {
    const engine = new Engine();
    engine.onStop = () => new Promise(() => {});
    const result = await scene(engine).tried();
    expect(result).toMatchObject({ outcome: 'failed', fault: 'engine' });
    expect(result.reasons.at(-1)).toBe('its engine could not be ended: the stop took longer than 1 s');
  });
});

test('who calls it off waits for nothing, and the engine is ended all the same', async ({ expect }) => {
  const engine = new Engine();
  const { tried, off, run } = scene(engine);
  engine.onSleep = async () => {
    off.abort();
    await new Promise(() => {});
  };
  await expect(run(tried())).rejects.toThrow();
  expect(engine.did).toEqual(['start', 'sleep 1', 'stop']);
});

describe('one level after the other', () => {
  const plan = (engines: readonly Engine[], levels: readonly TrialLevel[]) => ({
    asked: levels.map((level) => ({ level, named: false })),
    cycles: 1,
    subject: { backend: 'vllm_serve', works: [1, 2, 5], allowed: [1, 2, 5], sleepsItself: true } as const,
    limits: LIMITS,
    driverFor: (level: TrialLevel) => engines[levels.indexOf(level)] ?? new Engine(),
  });

  test('one that fails spoils nothing for the next', async ({ expect }) => {
    const [liar, honest] = [new Engine(), new Engine()];
    liar.onSleep = async () => {};
    const { means, off, run } = scene(liar, honest);
    const results = await run(validate(plan([liar, honest], [1, 2]), means, off.signal));
    expect(results.map(({ outcome }) => outcome)).toEqual(['failed', 'passed']);
    expect(liar.did.at(-1)).toBe('stop');
    expect(allWell(results)).toBe(false);
  });

  test('an engine that does not even start is not started again and again', async ({ expect }) => {
    const engine = new Engine();
    engine.onStart = () => Promise.reject(new DriverError('no such file'));
    const { means, off, run } = scene(engine);
    const results = await run(validate(plan([engine, engine, engine], [1, 2, 5]), means, off.signal));
    expect(results.map(({ outcome, fault }) => [outcome, fault])).toEqual([
      ['failed', 'engine'],
      ['failed', 'engine'],
      ['failed', 'engine'],
    ]);
    expect(results[2]?.reasons).toEqual(['not tried, since at level 1 a fresh engine does not start: no such file']);
    expect(engine.did).toEqual(['start', 'stop']);
  });

  test('nothing that could be tried is no success', ({ expect }) => {
    expect(
      allWell([{ level: 3, outcome: 'skipped', fault: 'place', reasons: [], notes: [], observed: undefined }]),
    ).toBe(false);
  });
});
