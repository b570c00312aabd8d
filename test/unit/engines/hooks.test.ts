import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, onTestFinished, test } from 'vitest';
import { engineHttp } from '../../../src/adapters/engine-http.ts';
import { openProcesses, type SystemProcesses } from '../../../src/adapters/processes.ts';
import { systemClock } from '../../../src/adapters/system-clock.ts';
import { modelId } from '../../../src/core/kinds.ts';
import { DriverError, type Done, type Driver } from '../../../src/engines/driver.ts';
import { HookedDriver } from '../../../src/engines/hooked.ts';
import { Hooks, type Hook, type HookEnd, type HookTable } from '../../../src/engines/hooks.ts';
import { killSurvivors, noSurvivors, survivors, testFolder } from '../../helpers/survivors.ts';
import { waitFor } from '../../helpers/wait-for.ts';
import { failureOf, order, watched } from './one-engine.ts';

let folder: ReturnType<typeof testFolder>;
let processes: SystemProcesses;
let ends: HookEnd[];

beforeEach(async () => {
  folder = testFolder();
  ends = [];
  processes = await openProcesses({ stateDir: join(folder.path, 'state'), onProblem: () => undefined });
});

afterEach(async () => {
  killSurvivors(folder.path);
  await processes.close();
  folder.remove();
});

const NO_TIME: Done = { actMs: 0, proofMs: 0 };
const PORT = 4_711;

/** An engine that writes down what is asked of it. */
function recording(said: string[]): Driver {
  let runs = false;
  const note = (what: string, then?: boolean) => (): Promise<Done> => {
    said.push(what);
    runs = then ?? runs;
    return Promise.resolve(NO_TIME);
  };
  return {
    backend: undefined,
    get running() {
      return runs ? { pid: 99, port: PORT, commandLine: 'engine' } : undefined;
    },
    members: async () => [],
    hindrance: async () => undefined,
    start: note('start', true),
    sleep: (level) => note(`sleep ${level}`)(),
    wake: (level) => note(`wake ${level}`)(),
    stop: note('stop', false),
    prove: async () => true,
    tail: () => [],
    release: () => null,
    adopt: async () => void note('adopt', true)(),
  };
}

const hook = (more: Partial<Hook>): Hook => ({ timeout_secs: 30, fatal: false, ...more });
/** The folder's name on its command line is how a test finds what is left of it. */
const shell = (script: string, more: Partial<Hook> = {}): Hook =>
  hook({ command: ['sh', '-c', script, folder.path], ...more });

function hooked(table: HookTable): { driver: HookedDriver; said: string[]; inner: Driver } {
  const said: string[] = [];
  const inner = recording(said);
  const hooks = new Hooks({ model: modelId('org/alpha'), replica: 1 }, table, {
    clock: systemClock(),
    processes,
    http: engineHttp(),
    ended: (end) => {
      ends.push(end);
      said.push(end.hook);
    },
    warned: (message) => said.push(message),
  });
  return { driver: new HookedDriver(inner, hooks), said, inner };
}

test('hooks are run around what they are called after, and told what they are for', async ({ expect }) => {
  const file = join(folder.path, 'said');
  const note = shell(
    `echo "$CATNAP_HOOK $CATNAP_MODEL $CATNAP_REPLICA \${CATNAP_LEVEL:-none} \${CATNAP_PORT:-none} \${HOME:+home}" >> ${file}`,
  );
  const { driver, said } = hooked({
    before_start: note,
    after_start: note,
    before_sleep: note,
    after_sleep: note,
    before_wake: note,
    after_wake: note,
    before_stop: note,
    after_stop: note,
  });
  await driver.start(order(1).order);
  await driver.sleep('hybrid', order(2).order);
  await driver.wake('hybrid', order(3).order);
  await driver.stop(order(4).order);
  expect(said.join(', ')).toBe(
    'before_start, start, after_start, before_sleep, sleep hybrid, after_sleep, before_wake, wake hybrid, after_wake, before_stop, stop, after_stop',
  );
  expect(readFileSync(file, 'utf8').trim().split('\n')).toEqual([
    'before_start org/alpha 1 none none home',
    'after_start org/alpha 1 none 4711 home',
    'before_sleep org/alpha 1 hybrid 4711 home',
    'after_sleep org/alpha 1 hybrid 4711 home',
    'before_wake org/alpha 1 hybrid 4711 home',
    'after_wake org/alpha 1 hybrid 4711 home',
    'before_stop org/alpha 1 none 4711 home',
    'after_stop org/alpha 1 none none home',
  ]);
  expect(new Set(ends.map(({ result }) => result))).toEqual(new Set(['done']));
  await noSurvivors(folder.path);
});

describe('a hook that fails', () => {
  test('is told, and stops nothing unless it is fatal', async ({ expect }) => {
    const { driver, said } = hooked({ before_start: shell('echo "mount: no such disk"; exit 3') });
    await driver.start(order().order);
    expect(said).toEqual(['before_start', 'start']);
    expect(ends).toMatchObject([
      { hook: 'before_start', result: 'failed', fatal: false, reason: 'ended with code 3: mount: no such disk' },
    ]);
  });

  test('fails its command when it is fatal, and the engine is not asked', async ({ expect }) => {
    const { driver, said } = hooked({
      before_start: shell('exit 3', { fatal: true }),
      before_sleep: hook({ command: ['/no/such/program'], fatal: true }),
    });
    const start = watched(driver.start(order().order));
    await waitFor('the end of the start', () => start.end !== undefined);
    expect(failureOf(start)).toBe('the hook before_start ended with code 3; it printed nothing');
    const sleep = watched(driver.sleep(1, order().order));
    await waitFor('the end of the sleep', () => sleep.end !== undefined);
    expect(failureOf(sleep)).toBe('the hook before_sleep cannot start /no/such/program: there is no such file');
    expect(said).toEqual(['before_start', 'before_sleep']);
    expect(ends).toMatchObject([{ fatal: true }, { fatal: true, sleepLevel: 1 }]);
  });

  test('never holds up a stop', async ({ expect }) => {
    const { driver, said } = hooked({ before_stop: shell('exit 1', { fatal: true }), after_stop: shell('exit 1') });
    await driver.start(order().order);
    await driver.stop(order(2).order);
    expect(said).toEqual(['start', 'before_stop', 'stop', 'after_stop']);
    expect(ends).toMatchObject([{ result: 'failed', fatal: false }, { result: 'failed' }]);
  });
});

describe('a hook does not outlive its time', () => {
  const stubborn = 'trap "" TERM; setsid sleep 600 & while :; do sleep 1; done';

  test('at its limit it is killed with all it has started', async ({ expect }) => {
    const { driver, said } = hooked({ after_start: shell(stubborn, { timeout_secs: 0.3, fatal: true }) });
    const start = watched(driver.start(order().order));
    await waitFor('the end of the start', () => start.end !== undefined, { within: 30_000 });
    expect(failureOf(start)).toBe('the hook after_start did not end within 0.3 s');
    expect(said).toEqual(['start', 'after_start']);
    expect(survivors(folder.path)).toEqual([]);
  });

  test('when the order is withdrawn it is ended, and the stop waits for that', async ({ expect }) => {
    const file = join(folder.path, 'runs');
    const { driver, said } = hooked({ before_start: shell(`touch ${file}; ${stubborn}`), after_stop: shell('true') });
    const { order: first, withdraw } = order();
    const start = watched(driver.start(first));
    await waitFor('the hook', () => existsSync(file), { within: 30_000 });
    withdraw();
    await driver.stop(order(2).order);
    expect(survivors(folder.path)).toEqual([]);
    expect(failureOf(start)).toBe('the order was withdrawn');
    // Nothing was started, so nothing has stopped.
    expect(said).toEqual(['before_start', 'stop']);
    expect(ends).toMatchObject([{ result: 'withdrawn', reason: '' }]);
  });

  test('what it leaves behind when it ends well is ended too', async ({ expect }) => {
    const { driver } = hooked({ before_start: shell(`sh -c 'sleep 600' ${folder.path} & exit 0`) });
    await driver.start(order().order);
    expect(ends).toMatchObject([{ result: 'done' }]);
    expect(survivors(folder.path)).toEqual([]);
  });
});

test('a stop that is tried again announces itself once', async ({ expect }) => {
  const { driver, said, inner } = hooked({ before_stop: shell('true'), after_stop: shell('true') });
  await driver.start(order().order);
  const works = inner.stop;
  inner.stop = () => Promise.reject(new DriverError('still alive'));
  await expect(driver.stop(order(2).order)).rejects.toThrow('still alive');
  inner.stop = works;
  await driver.stop(order(3).order);
  await driver.stop(order(4).order);
  expect(said).toEqual(['start', 'before_stop', 'stop', 'after_stop', 'stop']);
});

describe('a hook that is a call', () => {
  const serve = async (status: number | undefined): Promise<{ url: string; bodies: unknown[] }> => {
    const bodies: unknown[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(JSON.parse(Buffer.concat(chunks).toString('utf8')));
        if (status !== undefined) response.writeHead(status).end('{"error": "not now"}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/hook`, bodies };
  };

  test('is told the same as JSON, and 2xx is well', async ({ expect }) => {
    const { url, bodies } = await serve(204);
    const { driver } = hooked({ after_start: hook({ url, fatal: true }) });
    await driver.start(order().order);
    expect(bodies).toEqual([{ hook: 'after_start', model: 'org/alpha', replica: 1, port: PORT, pid: 99 }]);
    expect(ends).toMatchObject([{ result: 'done' }]);
  });

  test.for<[number | undefined, number, string]>([
    [503, 30, 'was not carried out: it answered 503: not now'],
    [302, 30, 'was not carried out: it answered 302: not now'],
    [undefined, 0.2, 'was not carried out: it did not answer within 0.2 s'],
  ])('%s is a failure', async ([status, timeout_secs, reason], { expect }) => {
    const { url } = await serve(status);
    const { driver } = hooked({ after_start: hook({ url, timeout_secs }) });
    await driver.start(order().order);
    expect(ends).toMatchObject([{ result: 'failed', reason }]);
  });
});
