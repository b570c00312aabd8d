import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ModelRow } from '../../src/api/admin/contract.ts';
import type { ConfigInput, ModelInput } from '../../src/config/schema.ts';
import { JSON_BODY, chatBody, writeConfig, type Catnap } from '../helpers/catnap.ts';
import { isAlive, test } from '../helpers/e2e.ts';
import { Lab } from '../helpers/lab.ts';
import { Metrics } from '../helpers/metrics.ts';
import { survivors } from '../helpers/survivors.ts';
import { waitFor } from '../helpers/wait-for.ts';

const ENGINE = join(import.meta.dirname, '../fixtures/engine.ts');

const engine = (...args: string[]): ModelInput => ({
  backend: 'command',
  command: [process.execPath, ENGINE, '--port', '${PORT}', ...args],
  footprint: { gpu_mib: 1 },
});
const ROOM = { gpu: { capacity_mib: 10 } };

/** Which process has answered, or what came in its place. */
async function pidOf(catnap: Catnap, model: string): Promise<string> {
  const { status, text } = await catnap.chat(model);
  return status === 200 ? (/"content":"(\d+) /.exec(text)?.[1] ?? text) : `${status} ${text}`;
}

/** The catnaps that live, the first one first. */
const catnaps = (folder: string): number[] =>
  survivors(folder)
    .filter(({ command }) => command.includes('launch/catnap.mjs'))
    .map(({ pid }) => pid)
    .toSorted((a, b) => a - b);

/** How often another catnap has taken over, and the first one is alone with it. */
async function restarted(catnap: Catnap, folder: string, times: number): Promise<void> {
  await catnap.fact('handed-over', {}, times);
  await catnap.fact('left', {}, times);
  await waitFor('two to be left', () => catnaps(folder).length === 2);
}

test('a restart leaves engines, streams and the order of an operator as they are, again and again', async ({
  expect,
  start,
  run,
  folder,
}) => {
  const holds = join(folder, 'holds');
  const models = { alpha: engine(), beta: engine('--hang-while', holds), gamma: engine() };
  const catnap = await start({ ...ROOM, models });
  const [alpha, beta] = [await pidOf(catnap, 'alpha'), await pidOf(catnap, 'beta')];
  expect((await catnap.ask('/v1/admin/models/gamma/unload?hold=true', {})).status).toBe(200);
  writeFileSync(holds, '');
  const stream = await catnap.stream('beta');
  const following = catnap.get('/v1/admin/events');

  const first = await run(['restart', '--url', catnap.url]);
  expect([first.code, first.err]).toEqual([0, '']);
  expect(first.out).toMatch(
    /^catnap \S+ serves now; nobody was let in for \d+ ms\. 1 request is served to the end\.$/m,
  );
  expect(first.out).toMatch(/^awake +alpha$/m);
  expect((await following).whole).toBe(true);
  expect(await catnap.fact('taken-over')).toMatchObject({ engines: 2, requests: 1 });
  expect(await pidOf(catnap, 'alpha')).toBe(alpha);
  expect(ModelRow.parse(await catnap.model('gamma')).hold).toBe(true);
  expect(await catnap.model('beta')).toMatchObject({ runtime_inflight: 1, runtime_state: 'loaded' });
  // The one before goes on with what is open, and so long nobody else comes.
  const second = await run(['restart', '--url', catnap.url]);
  expect([second.code, second.err]).toEqual([1, expect.stringContaining('still serves requests')]);
  expect(stream.over).toBe(false);
  rmSync(holds);
  expect(await stream.closed).toBe('whole');
  expect(stream.body).toContain(`"content":"${beta} 1"`);
  await restarted(catnap, folder, 1);
  await expect.poll(async () => (await catnap.model('beta')).runtime_inflight).toBe(0);

  const [parent, child] = catnaps(folder);
  expect(parent).toBe(catnap.pid);
  const third = await run(['restart', '--json', '--url', catnap.url]);
  expect(third.code).toBe(0);
  expect(JSON.parse(third.out)).toMatchObject({
    engines: [
      { model: 'alpha', level: null },
      { model: 'beta', level: null },
    ],
    requests: 0,
  });
  await restarted(catnap, folder, 2);
  expect(catnaps(folder)).not.toContain(child);
  expect(await pidOf(catnap, 'alpha')).toBe(alpha);
  expect(await pidOf(catnap, 'beta')).toBe(beta);
  expect(ModelRow.parse(await catnap.model('gamma')).hold).toBe(true);
  // As after any start, what is counted begins at 0.
  const served = new Metrics((await catnap.get('/metrics')).text).value('catnap_requests_total', {
    model: 'alpha',
    outcome: 'served',
  });
  expect(served).toBe(1);

  expect(await catnap.stop('SIGINT')).toEqual({ code: 0, signal: null });
  expect(catnaps(folder)).toEqual([]);
});

test('a stream goes through a restart whole, and a sleeper sleeps on', async ({ expect, start, folder, llama }) => {
  const lab = new Lab(folder);
  const flow = lab.flow('beta');
  const models = {
    words: await llama.says('I am words.', { footprint: { gpu_mib: 1 } }),
    alpha: lab.vllm({}, { sleep_level: 1, footprint: { gpu_mib: 9 } }),
    beta: lab.vllm({ ...flow, tokenMs: 25 }, { model_path: 'lab/other', footprint: { gpu_mib: 9 } }),
  };
  const catnap = await start({ ...lab.root, ...ROOM, models }, { env: lab.env });
  const said = contentOf((await catnap.chat('alpha')).text);
  const words = contentOf((await catnap.chat('words')).text);
  const [alpha, llamaServer] = [await catnap.engine('alpha'), await catnap.engine('words')];
  const stream = await (await catnap.stream('beta')).begun();
  const beta = await catnap.engine('beta');

  catnap.signal('SIGUSR2');
  await catnap.fact('handed-over');
  expect(stream.over).toBe(false);
  expect((await catnap.model('alpha')).engines).toMatchObject([{ pid: alpha.pid, phase: 'asleep' }]);
  expect((await catnap.model('beta')).runtime_inflight).toBe(1);
  expect((await catnap.engine('beta')).pid).toBe(beta.pid);
  expect(contentOf((await catnap.chat('words')).text)).toBe(words);
  expect((await catnap.engine('words')).pid).toBe(llamaServer.pid);
  // It waits for the stream that another process serves.
  const back = catnap.chat('alpha');
  await catnap.fact('request-arrived', { model: 'alpha' }, 2);
  flow.end();
  expect(await stream.closed).toBe('whole');
  expect(stream.body).toContain('[DONE]');
  expect(contentOf((await back).text)).toBe(said);
  expect((await catnap.engine('alpha')).pid).toBe(alpha.pid);
  expect((await catnap.told('swap-finished', { to: 'alpha' })).at(-1)).toMatchObject({ wokenFrom: 1, result: 'done' });
  expect(lab.ledger.events('refused')).toEqual([]);
});

const contentOf = (text: string): unknown => /"content":"[^"]*"/.exec(text)?.[0];

test('clients under load meet nothing but an answer, or a 503 that says when to come back', async ({
  expect,
  start,
  folder,
}) => {
  const models = { alpha: engine(), beta: engine() };
  const catnap = await start({ ...ROOM, models });
  const over = new AbortController();
  const answers = new Map<string, number>();
  const client = async (agent: Agent | false, model: string): Promise<void> => {
    while (!over.signal.aborted) {
      const asking = { body: chatBody(model), headers: JSON_BODY, agent };
      const { status, headers, whole } = await catnap.ask('/v1/chat/completions', asking);
      const told = [status, headers['x-catnap-error'], headers['retry-after'], ...(whole ? [] : ['cut'])];
      const kind = told.filter((word) => word !== undefined).join(' ');
      answers.set(kind, (answers.get(kind) ?? 0) + 1);
      if (headers['retry-after'] !== undefined) await pause(Number(headers['retry-after']) * 1_000);
    }
  };
  const agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const clients = [...agents, false as const, false as const].map((agent, at) =>
    client(agent, at % 2 === 0 ? 'alpha' : 'beta'),
  );
  for (const times of [1, 2]) {
    const before = answers.get('200') ?? 0;
    await waitFor('clients to be served', () => (answers.get('200') ?? 0) > before + 100, { within: 60_000 });
    catnap.signal('SIGUSR2');
    await restarted(catnap, folder, times);
  }
  over.abort();
  await Promise.all(clients);
  for (const agent of agents) agent.destroy();
  for (const kind of answers.keys()) expect(['200', '503 restarting 1']).toContain(kind);
  const refused = answers.get('503 restarting 1') ?? 0;
  const gaps = catnap.facts('handed-over').map((line) => Math.round(Number(line['gapMs'])));
  // They come back after a second, and are let in then unless nobody is yet.
  const most = gaps.reduce((sum, gap) => sum + clients.length * (1 + Math.floor(gap / 1_000)), 0);
  expect(refused).toBeLessThanOrEqual(most);
  console.log(`gaps of ${gaps.join(' and ')} ms; ${answers.get('200') ?? 0} answered, ${refused} told to come back`);
});

test('a config that is bad, and a catnap that dies while it takes over, leave everything as it was', async ({
  expect,
  start,
  run,
  folder,
}) => {
  const config: ConfigInput = { ...ROOM, models: { alpha: engine() } };
  const holds = join(folder, 'holds');
  const catnap = await start(config, { env: { NODE_OPTIONS: `--import=${beforeMain(folder, holds)}` } });
  const alpha = await pidOf(catnap, 'alpha');
  writeConfig(folder, { ...ROOM, models: { alpha: { backend: 'stub', tokns: 3 } as unknown as ModelInput } });
  const told = await run(['restart', '--url', catnap.url]);
  expect([told.code, told.err]).toEqual([1, expect.stringContaining('models.alpha.tokns')]);
  catnap.signal('SIGUSR2');
  await catnap.fact('restart-called-off', { by: 'SIGUSR2' });
  await waitFor('it to be alone', () => catnaps(folder).length === 1);
  expect((await catnap.get('/metrics')).text).toMatch(/^catnap_restarts_called_off_total 2$/m);

  writeConfig(folder, config);
  writeFileSync(holds, '');
  catnap.signal('SIGUSR2');
  const comes = await waitFor('another one to come', () => catnaps(folder).find((pid) => pid !== catnap.pid));
  process.kill(comes, 'SIGKILL');
  await catnap.fact('restart-called-off', { by: 'SIGUSR2' }, 2);
  rmSync(holds);
  expect(await pidOf(catnap, 'alpha')).toBe(alpha);

  // It can still be done.
  catnap.signal('SIGUSR2');
  await restarted(catnap, folder, 1);
  expect(await pidOf(catnap, 'alpha')).toBe(alpha);
});

/** A program that a catnap runs first: it gets no further while there is this file. */
function beforeMain(folder: string, file: string): string {
  const program = join(folder, 'before-main.mjs');
  const still = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)';
  writeFileSync(program, `import { existsSync } from 'node:fs';\nwhile (existsSync('${file}')) ${still};\n`);
  return program;
}

test('an unload that is under way goes on, and so do replicas and the level of an operator', async ({
  expect,
  start,
  run,
  folder,
}) => {
  const holds = join(folder, 'holds');
  const models = {
    alpha: { ...engine('--hang-while', holds), replicas: 2, replica_max: 3 },
    beta: { backend: 'stub', footprint: { gpu_mib: 1 } } as const,
  };
  const catnap = await start({ ...ROOM, models });
  const post = (path: string, body: object = {}) => catnap.ask(path, { body: JSON.stringify(body) });
  expect((await post('/v1/admin/models/alpha/load', { replicas: 3 })).status).toBe(200);
  const { engines } = await catnap.model('alpha');
  expect((await post('/control/wake', { model: 'beta', level: 1 })).status).toBe(200);
  writeFileSync(holds, '');
  const stream = await catnap.stream('alpha');
  const waits = post('/v1/admin/models/alpha/unload?hold=true');
  await waitFor('it to be unloading', async () => (await catnap.model('alpha')).runtime_state === 'unloading');

  expect((await run(['restart', '--url', catnap.url])).code).toBe(0);
  const told = await waits;
  expect([told.status, told.headers['x-catnap-error']]).toEqual([503, 'restarting']);
  expect(await catnap.model('alpha')).toMatchObject({ runtime_state: 'unloading', inflight_requests: 1, hold: true });
  expect((await catnap.model('alpha')).engines.map(({ pid }) => pid)).toEqual(engines.map(({ pid }) => pid));
  const comes = await catnap.chat('alpha');
  expect([comes.status, comes.headers['x-catnap-error']]).toEqual([503, 'model_unloading']);
  const again = post('/v1/admin/models/alpha/unload?hold=true&timeout_s=60');
  rmSync(holds);
  expect(await stream.closed).toBe('whole');
  expect((await again).status).toBe(200);
  await waitFor('it to be gone', async () => (await catnap.model('alpha')).runtime_state === 'unloaded');
  for (const { pid } of engines) expect(isAlive(Number(pid))).toBe(false);
  expect((await catnap.model('beta')).sleep_level).toBe(1);
});

test('who is still served when the time after a restart is up is told', async ({ expect, start, run, folder }) => {
  const [begun, held] = [join(folder, 'begun'), join(folder, 'held')];
  const models = { alpha: engine('--hang-while', begun), beta: engine('--hold-while', held) };
  const catnap = await start({ ...ROOM, handover_drain_secs: 1, models });
  const alpha = await pidOf(catnap, 'alpha');
  await pidOf(catnap, 'beta');
  for (const file of [begun, held]) writeFileSync(file, '');
  const stream = await catnap.stream('alpha');
  const answer = catnap.chat('beta');
  await waitFor('both to be served', async () => (await catnap.model('beta')).runtime_inflight === 1);
  expect((await run(['restart', '--url', catnap.url])).code).toBe(0);
  expect(await stream.closed).toBe('cut');
  expect(stream.body).toContain('"code":"restarting"');
  const { status, headers } = await answer;
  expect([status, headers['x-catnap-error'], headers['retry-after']]).toEqual([503, 'restarting', '1']);
  for (const file of [begun, held]) rmSync(file);
  await restarted(catnap, folder, 1);
  expect(await pidOf(catnap, 'alpha')).toBe(alpha);
});

test('a catnap that has the engines and cannot listen gives them back', async ({ expect, start, run, folder }) => {
  const holds = join(folder, 'holds');
  const models = { alpha: engine(), beta: engine('--hang-while', holds) };
  const catnap = await start({ ...ROOM, models });
  const [alpha, beta] = [await pidOf(catnap, 'alpha'), await pidOf(catnap, 'beta')];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const kept = (): Promise<{ status: number }> => catnap.ask('/v1/models', { method: 'GET', agent });
  expect((await kept()).status).toBe(200);
  writeFileSync(holds, '');
  const stream = await catnap.stream('beta');
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  const admin_port = typeof address === 'object' && address !== null ? address.port : 0;
  writeConfig(folder, { ...ROOM, models, admin_port });

  const told = await run(['restart', '--url', catnap.url]);
  expect([told.code, told.err]).toEqual([1, expect.stringContaining('`admin_port`')]);
  expect(await pidOf(catnap, 'alpha')).toBe(alpha);
  expect((await kept()).status).toBe(200);
  expect((await catnap.model('beta')).runtime_inflight).toBe(1);
  await waitFor('it to be alone', () => catnaps(folder).length === 1);

  // What was open then is known, and the next one takes over as ever.
  writeConfig(folder, { ...ROOM, models });
  expect((await run(['restart', '--url', catnap.url])).code).toBe(0);
  expect(stream.over).toBe(false);
  rmSync(holds);
  expect(await stream.closed).toBe('whole');
  expect(stream.body).toContain(`"content":"${beta} 1"`);
  await restarted(catnap, folder, 1);
  expect(catnap.facts('left')).toHaveLength(1);
  expect(await pidOf(catnap, 'alpha')).toBe(alpha);
  agent.destroy();
  taken.close();
});

test('when the one that serves is killed, the first one ends what it has left and says so by its code', async ({
  expect,
  start,
  folder,
}) => {
  const catnap = await start({ models: { alpha: engine('--fork') } });
  const alpha = Number(await pidOf(catnap, 'alpha'));
  catnap.signal('SIGUSR2');
  await restarted(catnap, folder, 1);
  const serving = catnaps(folder).find((pid) => pid !== catnap.pid) ?? 0;
  process.kill(serving, 'SIGKILL');
  expect(await catnap.exited).toEqual({ code: 137, signal: null });
  expect(isAlive(alpha)).toBe(false);
});

test('when the first one is killed, the one that serves ends in order', async ({ expect, start, folder }) => {
  const catnap = await start({ models: { alpha: engine() } });
  const alpha = Number(await pidOf(catnap, 'alpha'));
  catnap.signal('SIGUSR2');
  await restarted(catnap, folder, 1);
  catnap.signal('SIGKILL');
  await catnap.exited;
  await waitFor('both to have ended', () => catnaps(folder).length === 0);
  expect(isAlive(alpha)).toBe(false);
  expect(catnap.facts('stopped')).toHaveLength(1);
});

test('when the first one is killed while another is to come, nobody is left', async ({ expect, start, folder }) => {
  const holds = join(folder, 'holds');
  const env = { NODE_OPTIONS: `--import=${beforeMain(folder, holds)}` };
  const catnap = await start({ models: { alpha: engine() } }, { env });
  const alpha = Number(await pidOf(catnap, 'alpha'));
  catnap.signal('SIGUSR2');
  await restarted(catnap, folder, 1);
  const before = catnaps(folder);
  writeFileSync(holds, '');
  catnap.signal('SIGUSR2');
  // By its environment, which it has once it is a program of its own: before that it holds all that the first one has open.
  const { pid } = await waitFor('another one to come', () =>
    survivors('CATNAP_SUCCEEDS=1').find((one) => one.command.includes(folder) && !before.includes(one.pid)),
  );
  process.kill(pid, 'SIGSTOP');
  rmSync(holds);
  catnap.signal('SIGKILL');
  await waitFor('the one that served to have ended', () => catnaps(folder).join() === String(pid));
  expect(isAlive(alpha)).toBe(false);
  expect(catnap.facts('stopped')).toHaveLength(1);
  process.kill(pid, 'SIGCONT');
  await catnap.exited;
  await waitFor('all to have ended', () => catnaps(folder).length === 0);
  expect(catnap.log).not.toContain('a bug in catnap');
});
