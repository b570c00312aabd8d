import { test } from 'vitest';
import type { ModelInput } from '../../../src/config/schema.ts';
import type { CacheOf, Conversations } from '../../../src/ports/conversations.ts';
import type { EngineAnswer, EngineCall } from '../../../src/ports/engine-http.ts';
import { oneEngine, order, startUp, watched } from './one-engine.ts';
import { answered, HANG } from './scripted-ports.ts';

const ALPHA: ModelInput = { backend: 'llama_server', model_path: '/models/alpha.gguf', keep_kv: true };

/** A disk that does what the test says. */
class ScriptedConversations implements Conversations {
  readonly did: string[] = [];
  readonly keys: (readonly string[])[] = [];
  unfits: string | undefined;
  /** Why nothing can be kept. */
  full: string | undefined;
  files: readonly string[] = [];

  async unfit(): Promise<string | undefined> {
    return this.unfits;
  }

  async folder(): Promise<string> {
    return '/state/conversations/alpha';
  }

  async keyOf(words: readonly string[]): Promise<string> {
    this.keys.push(words);
    return 'key';
  }

  async keep(_engine: unknown, key: string, files: readonly string[]): Promise<string | undefined> {
    this.did.push(`keep ${key}: ${files.join(' ')}`);
    return this.full;
  }

  /** Of what the file says. */
  perToken: number | undefined = 1_000;
  /** Why there is no room for so many bytes. */
  lack: (toCome: number) => string | undefined = () => undefined;
  readonly of: CacheOf[] = [];

  async bytesPerToken(of: CacheOf): Promise<number | undefined> {
    this.of.push(of);
    return this.perToken;
  }

  async room(_engine: unknown, { total, toCome }: { total: number; toCome: number }): Promise<string | undefined> {
    this.did.push(`room ${total} ${toCome}`);
    return this.lack(toCome);
  }

  async kept(): Promise<readonly string[]> {
    return this.files;
  }

  async drop(): Promise<void> {
    this.did.push('drop');
  }
}

type Reply = EngineAnswer | typeof HANG | undefined;

/** A server with three slots, of which the first and the last have read something. */
async function served(model: ModelInput = ALPHA, given: { files?: readonly string[]; unfits?: string } = {}) {
  const conversations = Object.assign(new ScriptedConversations(), given);
  const engine = oneEngine(model, { conversations });
  const asked: string[] = [];
  const on: { reply: (path: string, json: unknown) => Reply } = { reply: () => undefined };
  const { processes } = engine;
  const answerTo = (call: EngineCall): EngineAnswer | typeof HANG => {
    const { pathname, search } = new URL(call.url);
    const path = pathname + search;
    if (path.startsWith('/slots')) asked.push(path);
    const given = on.reply(path, call.json);
    if (given !== undefined) return given;
    if (path === '/props') return answered(200, '{"total_slots":3,"chat_template":"…"}');
    const [, slot, what] = /^\/slots\/(\d)\?action=(\w+)/.exec(path) ?? [];
    return answered(200, what === undefined ? '[]' : `{"n_${what}d":${slot === '1' ? 0 : 40}}`);
  };
  await startUp(engine, 1, answerTo);
  const argv: readonly string[] = processes.specs[0]?.argv ?? [];
  return { ...engine, conversations, asked, on, argv };
}

test('before its end each slot that has read something is kept, and after the start it is given back', async ({
  expect,
}) => {
  const { driver, clock, conversations, asked, argv, told } = await served(ALPHA, { files: ['slot-2.bin'] });
  expect(asked).toEqual(['/slots/2?action=restore']);
  expect(conversations.did).toEqual(['drop']);
  expect(argv.join(' ')).toContain('--slot-save-path /state/conversations/alpha');
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(60_000);
  expect(stop.end?.kind).toBe('done');
  expect(asked.slice(1)).toEqual(['/slots', '/slots/0?action=save', '/slots/1?action=save', '/slots/2?action=save']);
  expect(conversations.did).toEqual(['drop', 'keep key: slot-0.bin slot-2.bin']);
  expect(told.warned).toEqual([]);
});

/** What its slots have read, as it tells. */
const READ = JSON.stringify([{ id: 0, n_prompt_tokens: 40 }, { id: 1 }, { id: 2, n_prompt_tokens: 60 }]);

test('what would not fit is not written, and the reason is told', async ({ expect }) => {
  const { driver, clock, conversations, asked, on, told } = await served();
  on.reply = (path) => (path === '/slots' ? answered(200, READ) : undefined);
  conversations.lack = () => 'it takes about 9 MiB';
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(60_000);
  expect([stop.end?.kind, asked]).toEqual(['done', ['/slots']]);
  expect(conversations.did).toEqual(['drop', 'room 100000 100000', 'drop']);
  expect(told.warned).toEqual(['what was read of the conversations is not kept: it takes about 9 MiB']);
});

test('room is asked for by the file of the model, and by what the first slots came to', async ({ expect }) => {
  const { driver, clock, conversations, on, told } = await served({ ...ALPHA, extra_args: ['-ctk', 'q8_0'] });
  expect(conversations.of).toEqual([{ modelFile: '/models/alpha.gguf', typeK: 'q8_0', typeV: 'f16' }]);
  on.reply = (path) => {
    if (path === '/slots') return answered(200, READ);
    return path === '/slots/0?action=save' ? answered(200, '{"n_saved":40,"n_written":80000}') : undefined;
  };
  void driver.stop(order(2).order);
  await clock.advance(60_000);
  expect(conversations.did).toEqual([
    'drop',
    'room 100000 100000',
    'room 200000 120000',
    'keep key: slot-0.bin slot-2.bin',
  ]);
  expect(told.warned).toEqual([]);
});

test('what a server writes on after it was given up goes with its process', async ({ expect }) => {
  const { driver, clock, processes, conversations, on } = await served();
  on.reply = (path) => (path === '/slots/0?action=save' ? answered(500, '{"error":"Unable to save slot"}') : undefined);
  processes.child.onSignal = () => {
    conversations.did.push('ended');
    processes.child.exit(0);
  };
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(60_000);
  expect(stop.end?.kind).toBe('done');
  expect(conversations.did).toEqual(['drop', 'drop', 'ended', 'drop']);
});

test('the key is of all it is started with but its port', async ({ expect }) => {
  const { conversations, argv } = await served();
  const port = argv[argv.indexOf('--port') + 1];
  const [words = []] = conversations.keys;
  expect(words).not.toContain(port);
  expect(words).toContain('/models/alpha.gguf');
  expect(words.length).toBeGreaterThanOrEqual(argv.length);
});

test('where nothing can be kept it is started as ever, and why is told once it is up', async ({ expect }) => {
  const cases: [ModelInput, object, string][] = [
    [ALPHA, { unfits: 'part of it is recurrent' }, 'part of it is recurrent'],
    [{ ...ALPHA, extra_args: ['--slot-save-path', '/tmp'] }, {}, '`extra_args` sets --slot-save-path itself'],
  ];
  for (const [model, given, why] of cases) {
    const { argv, told, driver, asked, clock } = await served(model, given);
    expect(argv).not.toContain('/state/conversations/alpha');
    expect(told.warned).toEqual([`keep_kv has no effect: ${why}`]);
    const stop = watched(driver.stop(order(2).order));
    await clock.advance(60_000);
    expect([stop.end?.kind, asked]).toEqual(['done', []]);
  }
});

test('with its whole attention kept a windowed model is fit', async ({ expect }) => {
  const { argv, told } = await served({ ...ALPHA, extra_args: ['--swa-full'] }, { unfits: 'a window' });
  expect(argv).toContain('/state/conversations/alpha');
  expect(told.warned).toEqual([]);
});

test('one that is busy for too long is stopped without, and half of a conversation is not left behind', async ({
  expect,
}) => {
  const { driver, clock, conversations, on, told } = await served();
  on.reply = (path) => (path === '/slots/2?action=save' ? HANG : undefined);
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(120_000);
  expect(stop.end?.kind).toBe('done');
  expect(conversations.did).toEqual(['drop', 'drop', 'drop']);
  expect(told.warned).toEqual(['what was read of the conversations is not kept: it took too long']);
});

test('one that answers nothing is asked for nothing', async ({ expect }) => {
  const { driver, clock, asked, on, told } = await served();
  on.reply = () => HANG;
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(120_000);
  expect([stop.end?.kind, asked]).toEqual(['done', []]);
  expect(told.warned).toEqual(['what was read of the conversations is not kept: it does not answer']);
});

test('one whose web server alone still answers is not waited for slot by slot', async ({ expect }) => {
  const { driver, clock, asked, on } = await served();
  on.reply = (path) => (path === '/props' ? undefined : HANG);
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(120_000);
  expect([stop.end?.kind, asked]).toEqual(['done', ['/slots']]);
});

test('one that sleeps by itself is not woken to save what it has forgotten', async ({ expect }) => {
  const { driver, clock, conversations, asked, on, told } = await served();
  on.reply = (path) => (path === '/props' ? answered(200, '{"total_slots":3,"is_sleeping":true}') : undefined);
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(120_000);
  expect([stop.end?.kind, asked, told.warned]).toEqual(['done', [], []]);
  expect(conversations.did).toEqual(['drop', 'keep key: ']);
});

test('what cannot be given back is told, and nothing else suffers', async ({ expect }) => {
  const conversations = Object.assign(new ScriptedConversations(), { files: ['slot-0.bin'] });
  const engine = oneEngine(ALPHA, { conversations });
  await startUp(engine, 1, ({ url }) =>
    url.includes('restore') ? answered(400, '{"error":"Unable to restore slot"}') : answered(200),
  );
  expect(engine.driver.backend).toBeDefined();
  expect(engine.told.warned).toEqual([
    'what llama-server had read could not be given back to it: it answered 400: {"error":"Unable to restore slot"}',
  ]);
  expect(conversations.did).toEqual(['drop']);
});

test('what there is no room for is told', async ({ expect }) => {
  const { driver, clock, conversations, told } = await served();
  conversations.full = 'it takes 9 MiB';
  void driver.stop(order(2).order);
  await clock.advance(60_000);
  expect(told.warned).toEqual(['what was read of the conversations is not kept: it takes 9 MiB']);
});
