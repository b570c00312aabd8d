import { once } from 'node:events';
import { test } from 'vitest';
import { Giving, type Leaver } from '../../../../src/app/restart/giving.ts';
import { PROTOCOL, type Line, type Said } from '../../../../src/app/restart/said.ts';
import type { Fact } from '../../../../src/core/facts.ts';
import { ticketId, type TicketId } from '../../../../src/core/kinds.ts';
import type { Handover } from '../../../../src/ports/handover.ts';
import { VirtualClock } from '../../../helpers/virtual-clock.ts';

const READY = { kind: 'ready', protocol: PROTOCOL, version: '1.2.4' } as const;
const GONE = { kind: 'gone', why: 'it was ended by SIGKILL' } as const;
const HANDOVER: Handover = { version: 1, catnap: '1.2.3', stateDir: '/state', stages: [] };
const LIMITS = { readyMs: 30_000, restMs: 60_000, drainMs: 600_000 };

/** A catnap that leaves, and the one that comes, which says what the test says. */
class Scene {
  readonly clock = new VirtualClock();
  /** What has happened, in order. */
  readonly told: string[] = [];
  readonly facts: Fact[] = [];
  /** Why engines cannot be let go of. */
  unrest: string | undefined;
  /** Whether they never come to rest. */
  isBusy = false;
  settled: (ticket: TicketId) => void = () => {};
  readonly #left = Promise.withResolvers<void>();

  readonly #line: Line = {
    begin: () => void this.told.push('begin'),
    callOff: () => void this.told.push('call off'),
    send: async (_to, said) => void this.told.push(`say ${said.kind}`),
    hear: () => {},
  };

  readonly #leaver: Leaver = {
    accepting: true,
    reporter: { report: (fact) => this.facts.push(fact) },
    handOver: async ({ settled, signal }) => {
      if (this.unrest !== undefined) throw new Error(this.unrest);
      if (this.isBusy) {
        this.told.push('wait for rest');
        await once(signal, 'abort');
        throw new Error(String(signal.reason));
      }
      this.settled = settled;
      this.told.push('let go');
      return HANDOVER;
    },
    give: () => {
      const place = { port: 'main', host: '127.0.0.1', number: 0 } as const;
      return [{ place, number: 3_000, socket: { close() {} }, stop: () => void this.told.push('stop listening') }];
    },
    takeBack: async ({ settled }) => {
      settled((ticket) => this.told.push(`ended meanwhile: ${ticket}`));
      this.told.push('take back');
    },
    leave: () => this.#left.promise,
    cut: ({ tickets }) => void this.told.push(`cut ${tickets.join()}`),
  };

  readonly giving = new Giving({
    line: this.#line,
    clock: this.clock,
    leaver: this.#leaver,
    limits: () => LIMITS,
    after: () => void this.told.push('after'),
    left: () => void this.told.push('left'),
    fatal: (error) => void this.told.push(`fatal: ${String(error)}`),
  });

  /** What the one that comes says, and all that it leads to. */
  async says(...all: readonly Said[]): Promise<void> {
    for (const said of all) this.giving.hear(said);
    await this.clock.advance(0);
  }

  leave(): void {
    this.#left.resolve();
  }
}

test('everything goes to the one that is ready, and what was open is told of and cut', async ({ expect }) => {
  const scene = new Scene();
  const end = scene.giving.restart('SIGUSR2', undefined);
  expect(await scene.giving.restart('somebody', undefined)).toMatchObject({ kind: 'refused', code: 'restarting' });
  await scene.says(READY);
  expect(scene.told).toEqual(['begin', 'let go', 'say take', 'say socket', 'stop listening']);
  await scene.says({ kind: 'taken' });
  expect(await end).toMatchObject({ kind: 'done', handed: { version: '1.2.4', requests: 0 } });
  expect(scene.giving.isAfter).toBe(true);
  scene.told.length = 0;
  scene.settled(ticketId(7));
  await scene.says({ kind: 'cut', tickets: [ticketId(8)], code: 'drained', reason: 'room', mayReturn: false });
  scene.leave();
  await scene.clock.advance(0);
  expect(scene.told).toEqual(['say settled', 'cut 8', 'left']);
  expect(scene.facts.map(({ kind }) => kind)).toEqual(['restart-asked', 'handed-over']);
});

test.for<[what: string, says: readonly Said[], problem: RegExp, told: readonly string[]]>([
  ['it ends before it is ready', [GONE], /did not start: it was ended by SIGKILL/, ['begin']],
  [
    'its config is bad',
    [{ kind: 'refused', why: ['models.a.tokns: is not known'] }, GONE],
    /^models\.a\.tokns: is not known$/,
    ['begin', 'call off'],
  ],
  [
    'it takes over in another way',
    [{ ...READY, protocol: PROTOCOL + 1 }, GONE],
    /takes over in another way/,
    ['begin', 'call off'],
  ],
  [
    'it ends before it has taken over',
    [READY, GONE],
    /did not start/,
    ['begin', 'let go', 'say take', 'say socket', 'stop listening', 'take back'],
  ],
  [
    'it cannot take over',
    [READY, { kind: 'refused', why: ['no room'] }, GONE],
    /^no room$/,
    ['begin', 'let go', 'say take', 'say socket', 'stop listening', 'call off', 'take back'],
  ],
])('all is as it was when %s', async ([, says, problem, told], { expect }) => {
  const scene = new Scene();
  const end = scene.giving.restart('SIGUSR2', undefined);
  for (const said of says) await scene.says(said);
  expect(await end).toMatchObject({
    kind: 'refused',
    code: 'restart_refused',
    problems: [expect.stringMatching(problem)],
  });
  expect(scene.told).toEqual(told);
  expect(scene.giving.isAfter).toBe(false);
  expect(scene.facts.at(-1)).toMatchObject({ kind: 'restart-called-off', by: 'SIGUSR2' });

  // It can be tried again.
  scene.told.length = 0;
  const again = scene.giving.restart('SIGUSR2', undefined);
  await scene.says(READY);
  await scene.says({ kind: 'taken' });
  expect(await again).toMatchObject({ kind: 'done' });
});

test('what it has said in one go is heard in order', async ({ expect }) => {
  const scene = new Scene();
  const end = scene.giving.restart('SIGUSR2', undefined);
  await scene.says({ kind: 'refused', why: ['bad'] }, GONE);
  expect(await end).toMatchObject({ problems: ['bad'] });
});

test('each leg is bounded, and the one that was to come is gone before all is as it was', async ({ expect }) => {
  const scene = new Scene();
  const first = scene.giving.restart('SIGUSR2', undefined);
  await scene.clock.advance(29_000);
  expect(scene.told).toEqual(['begin']);
  await scene.clock.advance(1_001);
  expect(scene.told).toEqual(['begin', 'call off']);
  await scene.says(GONE);
  expect(await first).toMatchObject({ problems: ['the new catnap was not ready after 30 s'] });

  const second = scene.giving.restart('SIGUSR2', undefined);
  await scene.says(READY);
  scene.settled(ticketId(4));
  await scene.clock.advance(30_001);
  expect(scene.told.at(-1)).toBe('call off');
  await scene.says(GONE);
  expect(await second).toMatchObject({ problems: ['the new catnap was not serving after 30 s'] });
  // A request that has ended in between is known to whoever goes on.
  expect(scene.told.slice(-2)).toEqual(['ended meanwhile: 4', 'take back']);
});

test('models that do not come to rest, and whatever precludes it, leave all as it was', async ({ expect }) => {
  const scene = new Scene();
  scene.unrest = 'beta is starting';
  const end = scene.giving.restart('SIGUSR2', undefined);
  await scene.says(READY);
  await scene.says(GONE);
  expect(await end).toMatchObject({ problems: ['beta is starting'] });
  expect(scene.told).toEqual(['begin', 'call off']);
  expect(await scene.giving.restart('SIGUSR2', 'not on this system')).toMatchObject({
    problems: ['not on this system'],
  });
  expect(scene.told).toEqual(['begin', 'call off']);
});

test('a restart is called off by the wish to stop', async ({ expect }) => {
  const scene = new Scene();
  const end = scene.giving.restart('SIGUSR2', undefined);
  const stays = scene.giving.callOff();
  await scene.says(GONE);
  expect(await stays).toBe(true);
  const closing = { kind: 'refused', code: 'shutting_down', problems: ['catnap is shutting down'] };
  expect(await end).toEqual(closing);
  expect(scene.facts.at(-1)).toMatchObject({ kind: 'restart-called-off', problems: closing.problems });
  expect(await scene.giving.restart('SIGUSR2', undefined)).toEqual(closing);
});

test('the wish to stop comes too late once another one serves', async ({ expect }) => {
  const scene = new Scene();
  const end = scene.giving.restart('SIGUSR2', undefined);
  await scene.says(READY);
  await scene.says({ kind: 'taken' });
  await end;
  expect(await scene.giving.callOff()).toBe(false);
});

test('one that has taken over before it could be ended has taken over', async ({ expect }) => {
  const scene = new Scene();
  const end = scene.giving.restart('SIGUSR2', undefined);
  await scene.says(READY);
  await scene.clock.advance(30_001);
  expect(scene.told.at(-1)).toBe('call off');
  await scene.says({ kind: 'taken' });
  expect(await end).toMatchObject({ kind: 'done' });
  expect(scene.giving.isAfter).toBe(true);
  expect(scene.told).not.toContain('take back');
});

test('a wish to stop does not wait for models that are on their way', async ({ expect }) => {
  const scene = new Scene();
  scene.isBusy = true;
  const end = scene.giving.restart('SIGUSR2', undefined);
  await scene.says(READY);
  const stays = scene.giving.callOff();
  await scene.says(GONE);
  expect(await stays).toBe(true);
  expect(await end).toMatchObject({ problems: ['catnap is shutting down'] });
  expect(scene.told).toEqual(['begin', 'wait for rest', 'call off', 'call off']);
});
