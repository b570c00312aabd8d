import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system-clock.ts';
import { App } from '../../../src/app/app.ts';
import type { Fact } from '../../../src/core/facts.ts';
import type { TicketId } from '../../../src/core/kinds.ts';
import type { HandedCut, Handover, Predecessor } from '../../../src/ports/handover.ts';
import { ask, chat } from '../../helpers/client.ts';
import { goodConfig, load } from '../../helpers/config.ts';
import { killSurvivors, noSurvivors, survivors, testFolder } from '../../helpers/survivors.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const ENGINE = join(import.meta.dirname, '../../fixtures/engine.ts');

let folder: ReturnType<typeof testFolder>;
const opened: App[] = [];

beforeEach(() => {
  folder = testFolder();
});

afterEach(async () => {
  for (const app of opened.splice(0)) await app.shutDown(0, 'the test').catch(() => {});
  killSurvivors(folder.path);
  folder.remove();
});

const hold = (): string => join(folder.path, 'hold');
/** The folder's name on its command line is how a test finds it. */
const engine = (more = ''): object => ({
  backend: 'command',
  command: [process.execPath, ENGINE, '--port', '${PORT}', '--hold-while', hold(), ...(more === '' ? [] : [more])],
});

const settings = (models: object, more: object = {}): object => ({
  port: 0,
  metrics_port: 0,
  state_dir: join(folder.path, 'state'),
  stop_grace_secs: 1,
  models,
  ...more,
});

const slots = (count: number): object => ({ stages: { one: { slots: count } } });

type Catnap = { readonly app: App; readonly facts: Fact[]; readonly cuts: HandedCut[] };

async function open(config: object, from?: () => Promise<Handover>): Promise<Catnap> {
  const facts: Fact[] = [];
  const cuts: HandedCut[] = [];
  const predecessor: Predecessor | undefined = from && {
    // Over a pipe, as it is between two processes.
    takeOver: async () => JSON.parse(JSON.stringify(await from())),
    cut: (cut) => void cuts.push(cut),
  };
  const app = await App.open({
    config: goodConfig(config),
    metricsPortAsked: false,
    unconfigured: false,
    read: () => load(config),
    files: [],
    log: { report: (fact) => facts.push(fact), showsOutput: false, engineLine: () => {} },
    clock: systemClock(),
    version: '1.2.3',
    env: { PATH: process.env['PATH'] },
    restart: () => Promise.reject(new Error('nobody asks for that here')),
    fatal: (error) => {
      throw error;
    },
    ...(predecessor !== undefined && { predecessor }),
  });
  opened.push(app);
  return { app, facts, cuts };
}

/** Lets go, and gives what is left, with whoever has ended since. */
async function left({ app }: Catnap): Promise<{ handover: Handover; settled: TicketId[] }> {
  const settled: TicketId[] = [];
  const handover = await app.handOver({
    signal: new AbortController().signal,
    withinMs: 10_000,
    settled: (ticket) => settled.push(ticket),
  });
  return { handover, settled };
}

/** Which process answers. */
async function answers({ app }: Catnap, model: string): Promise<number> {
  const { status, text } = await ask(app.port, '/v1/chat/completions', { body: chat(model), headers: JSON_BODY });
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return Number.parseInt(JSON.parse(text).choices[0].message.content, 10);
}

test('an engine that is awake goes on as it is, and ends with the catnap that has taken it over', async () => {
  const config = settings({ a: engine() });
  const before = await open(config);
  const pid = await answers(before, 'a');

  const { handover } = await left(before);
  const after = await open(config, async () => handover);

  expect(await answers(after, 'a')).toBe(pid);
  expect(after.facts.filter(({ kind }) => kind === 'leftover-reaped')).toEqual([]);
  await after.app.shutDown(0, 'the test');
  await noSurvivors(folder.path);
});

test('one that has let go sends requests to the next, and ends without ending an engine', async () => {
  const config = settings({ a: engine() });
  const before = await open(config);
  const pid = await answers(before, 'a');
  const { handover } = await left(before);

  const refused = await ask(before.app.port, '/v1/chat/completions', { body: chat('a'), headers: JSON_BODY });
  await before.app.leave(0, async () => {});
  before.app.killAllNow();

  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(await answers(await open(config, async () => handover), 'a')).toBe(pid);
});

test('what is open goes on in the one before, and counts in the next until it has ended', async () => {
  writeFileSync(hold(), '');
  const config = settings({ a: { ...engine(), target_inflight: 1 }, b: engine() });
  const before = await open(config);
  const slow = ask(before.app.port, '/v1/chat/completions', { body: chat('a'), headers: JSON_BODY });
  await waitFor('a lease', () => before.facts.some(({ kind }) => kind === 'request-granted'));

  const { handover, settled } = await left(before);
  const after = await open(config, async () => handover);
  const swap = ask(after.app.port, '/v1/chat/completions', { body: chat('b'), headers: JSON_BODY });
  await waitFor('the swap', () => after.facts.some(({ kind }) => kind === 'swap-planned'));
  const during = after.facts.filter(({ kind }) => kind === 'engine-moved');
  rmSync(hold());
  expect((await slow).status).toBe(200);
  for (const ticket of settled) after.app.settledElsewhere(ticket);

  expect(settled).toHaveLength(1);
  expect(during).toEqual([]);
  expect((await swap).status).toBe(200);
});

test('what is open with one before that is no more does not hold up anybody', async () => {
  writeFileSync(hold(), '');
  const config = settings({ a: engine(), b: engine() });
  const before = await open(config);
  void ask(before.app.port, '/v1/chat/completions', { body: chat('a'), headers: JSON_BODY }).catch(() => {});
  await waitFor('a lease', () => before.facts.some(({ kind }) => kind === 'request-granted'));
  const { handover } = await left(before);
  const after = await open(config, async () => handover);
  rmSync(hold());

  after.app.settledElsewhere(undefined);

  expect(await answers(after, 'b')).toBeGreaterThan(0);
});

test('an engine that has died in between is started again for the next request', async () => {
  const config = settings({ a: engine() }, { restart: { first_delay_secs: 0.01 } });
  const before = await open(config);
  const pid = await answers(before, 'a');
  const { handover } = await left(before);
  process.kill(pid, 'SIGKILL');
  await waitFor('its end', () => !survivors(folder.path).some((one) => one.pid === pid));

  const after = await open(config, async () => handover);

  await waitFor('the failure', () => after.facts.some(({ kind }) => kind === 'engine-failed'));
  expect(await waitFor('an answer', () => answers(after, 'a').catch(() => false as const))).not.toBe(pid);
});

test('an engine that dies later is noticed by one that is not its parent', async () => {
  const config = settings({ a: engine() });
  const before = await open(config);
  const pid = await answers(before, 'a');
  const { handover } = await left(before);
  const after = await open(config, async () => handover);

  process.kill(pid, 'SIGKILL');

  await waitFor('the failure', () => after.facts.some(({ kind }) => kind === 'engine-failed'));
});

test('one whose settings are others starts anew for the next request, and one that is gone from the config is ended', async () => {
  const before = await open(settings({ a: engine(), b: engine() }, slots(2)));
  const [a, b] = [await answers(before, 'a'), await answers(before, 'b')];
  const { handover } = await left(before);

  const after = await open(settings({ b: engine('--fork') }, slots(2)), async () => handover);

  expect(await answers(after, 'b')).not.toBe(b);
  await waitFor('their end', () => !survivors(folder.path).some(({ pid }) => pid === a || pid === b));
});

test('the orders of operators go with the engines', async () => {
  const config = settings({ a: engine(), b: engine() });
  const before = await open(config);
  const body = JSON.stringify({ mode: 'manual' });
  expect((await ask(before.app.port, '/control/mode', { body, headers: JSON_BODY })).status).toBe(200);
  const { handover } = await left(before);

  const after = await open(config, async () => handover);

  const refused = await ask(after.app.port, '/v1/chat/completions', { body: chat('b'), headers: JSON_BODY });
  expect(JSON.parse(refused.text).error.code).toBe('manual_mode');
});

test('nobody takes over what belongs to another state folder', async () => {
  const before = await open(settings({ a: engine() }));
  const pid = await answers(before, 'a');
  const { handover } = await left(before);
  const other = { ...settings({ a: engine() }), state_dir: join(folder.path, 'other') };

  await expect(open(other, async () => handover)).rejects.toThrow(/state_dir/);

  expect(await answers(await open(settings({ a: engine() }), async () => handover), 'a')).toBe(pid);
  expect(existsSync(join(folder.path, 'state'))).toBe(true);
});

test('where fewer fit than before, those that were not used for longest go', async () => {
  const models = { a: engine(), b: engine() };
  const before = await open(settings(models, slots(2)));
  const [a, b] = [await answers(before, 'a'), await answers(before, 'b')];
  const { handover } = await left(before);

  const after = await open(settings(models, slots(1)), async () => handover);

  await waitFor('the end of one', () => !survivors(folder.path).some(({ pid }) => pid === a));
  expect(await answers(after, 'b')).toBe(b);
});

test('engines are not taken over to a stage that is another one', async () => {
  const before = await open(settings({ a: engine() }, slots(1)));
  const pid = await answers(before, 'a');
  const { handover } = await left(before);

  await expect(open(settings({ a: engine() }), async () => handover)).rejects.toThrow(/stage/);

  expect(await answers(await open(settings({ a: engine() }, slots(1)), async () => handover), 'a')).toBe(pid);
});

test('a model of which nothing runs goes where the config has it, and one that runs does not', async () => {
  const on = (b: string, a = 'one'): object => ({ a: { ...engine(), stage: a }, b: { ...engine(), stage: b } });
  const stages = { stages: { one: { slots: 1 }, two: { slots: 1 } } };
  const before = await open(settings(on('one'), stages));
  const pid = await answers(before, 'a');
  const { handover } = await left(before);

  await expect(open(settings(on('one', 'two'), stages), async () => handover)).rejects.toThrow(/a runs on stage one/);

  const after = await open(settings(on('two'), stages), async () => handover);
  await answers(after, 'b');
  expect(await answers(after, 'a')).toBe(pid);
});
