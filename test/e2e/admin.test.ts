import { rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe } from 'vitest';
import { ErrorAnswer, ModelRow, SwapList } from '../../src/api/admin/contract.ts';
import { ControlStatus } from '../../src/api/control/contract.ts';
import { writeConfig, type Catnap } from '../helpers/catnap.ts';
import { test } from '../helpers/e2e.ts';
import { waitFor } from '../helpers/wait-for.ts';

const ENGINE = join(import.meta.dirname, '../fixtures/engine.ts');
const stub = { backend: 'stub' } as const;

const post = (catnap: Catnap, path: string, body?: object | string) =>
  catnap.ask(path, { body: typeof body === 'object' ? JSON.stringify(body) : (body ?? '') });

async function load(catnap: Catnap, model: string, body?: object): Promise<ModelRow> {
  const { status, text } = await post(catnap, `/v1/admin/models/${model}/load`, body);
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return ModelRow.parse(JSON.parse(text));
}

const codeOf = (text: string): string => ErrorAnswer.parse(JSON.parse(text)).error.code;

test('a model that only operators load is served between their load and their unload', async ({ expect, start }) => {
  const catnap = await start({ models: { 'org/a': { ...stub, activation: 'explicit', enabled: false }, b: stub } });
  const refused = await catnap.chat('org/a');
  expect([refused.status, codeOf(refused.text)]).toEqual([409, 'model_not_loaded']);
  expect(refused.headers['x-should-retry']).toBe('false');

  expect(await load(catnap, 'org/a')).toMatchObject({ runtime_state: 'loaded', configured_enabled: false });
  expect((await catnap.chat('org/a')).status).toBe(200);

  const unloaded = await post(catnap, '/v1/admin/models/org%2Fa/unload');
  expect(ModelRow.parse(JSON.parse(unloaded.text))).toMatchObject({ runtime_state: 'unloaded', loaded_replicas: 0 });
  expect((await catnap.chat('org/a')).status).toBe(409);
  expect((await catnap.chat('b')).status).toBe(200);
});

test('explicit models that are enabled are loaded at start, as far as they fit', async ({ expect, start }) => {
  const explicit = { ...stub, activation: 'explicit' } as const;
  const catnap = await start({ models: { a: explicit, b: explicit, c: stub } });
  await waitFor('a to be loaded', async () => (await catnap.model('a')).is_loaded);
  expect((await catnap.model('b')).runtime_state).toBe('unloaded');
  expect((await catnap.told('warned')).map(({ msg }) => msg)).toEqual([expect.stringContaining('no room to load b')]);
});

test('those of `preload` are loaded at start, in the order of the config, whoever they are for', async ({
  expect,
  start,
}) => {
  const one = { ...stub, footprint: { gpu_mib: 1 } };
  const catnap = await start({
    gpu: { capacity_mib: 2 },
    preload: ['d', 'c', 'b'],
    models: {
      a: one,
      b: { ...one, enabled: false },
      c: { ...one, activation: 'explicit' },
      d: one,
    },
  });
  await catnap.fact('swap-finished', { result: 'done' }, 2);
  const { models } = await catnap.models();
  expect(models.map(({ name, runtime_state: state }) => [name, state])).toEqual([
    ['a', 'unloaded'],
    ['b', 'loaded'],
    ['c', 'loaded'],
    ['d', 'unloaded'],
  ]);
  expect((await catnap.told('warned')).map(({ msg }) => msg)).toEqual([expect.stringContaining('no room to load d')]);
  expect((await catnap.chat('b')).status).toBe(200);
});

test('an unload refuses who waits and who comes, and lets who is served finish, whatever becomes of its caller', async ({
  expect,
  start,
  folder,
}) => {
  const holds = join(folder, 'holds');
  writeFileSync(holds, '');
  const command: [string, ...string[]] = [process.execPath, ENGINE, '--port', '${PORT}', '--hang-while', holds];
  const catnap = await start({ models: { a: { backend: 'command', command, target_inflight: 1 } } });
  const stream = await catnap.stream('a');
  const waits = catnap.chat('a');
  await waitFor('one to wait', async () => (await catnap.model('a')).queue_depth === 1);

  // The caller leaves at once.
  const caller = request({ port: catnap.port, path: '/v1/admin/models/a/unload', method: 'POST' });
  caller.on('error', () => {});
  caller.end();
  const told = await waits;
  expect([told.status, codeOf(told.text)]).toEqual([503, 'model_unloading']);
  const left = new Promise((resolve) => caller.once('close', resolve));
  caller.destroy();
  await left;

  const comes = await catnap.chat('a');
  expect([comes.status, codeOf(comes.text)]).toEqual([503, 'model_unloading']);
  expect((await catnap.model('a')).runtime_state).toBe('unloading');
  const again = await post(catnap, '/v1/admin/models/a/load');
  expect([again.status, codeOf(again.text)]).toEqual([409, 'invalid_state']);

  rmSync(holds);
  expect(await stream.closed).toBe('whole');
  await waitFor('a to be unloaded', async () => (await catnap.model('a')).runtime_state === 'unloaded');
  expect((await catnap.chat('a')).status).toBe(200);
});

/** A template that takes what TranslateGemma's takes, and names what it is to translate from and to. */
const TRANSLATES = `{%- set languages = {"cs":"Czech","de":"German","en":"English"} -%}
{%- for message in messages -%}{%- set part = message['content'][0] -%}
{%- set source_lang_code = part['source_lang_code'] -%}{%- set target_lang_code = part['target_lang_code'] -%}
<{{ languages[source_lang_code] }} to {{ languages[target_lang_code] }}> {{ part['text'] }}{%- endfor -%}`;

test('what a load changes reaches the real engine, for that load only', async ({ expect, start, llama, folder }) => {
  const template = join(folder, 'translates.jinja');
  writeFileSync(template, TRANSLATES);
  const model = await llama.says('I am alpha.', {
    extra_args: ['-c', '512', '--jinja', '--chat-template-file', template],
    prompt_format: 'translategemma_template',
  });
  const catnap = await start({ models: { alpha: model } });
  const context = async (): Promise<unknown> => {
    const { port } = await catnap.engine('alpha');
    const props: unknown = await (await fetch(`http://127.0.0.1:${port}/props`)).json();
    return (props as { default_generation_settings: { n_ctx: number } }).default_generation_settings.n_ctx;
  };
  const row = await load(catnap, 'alpha', { llama_server_n_ctx: 1024 });
  expect(row).toMatchObject({ load_override: { llama_server_n_ctx: 1024 }, definition: { llama_server_n_ctx: null } });
  expect(await context()).toBe(1024);

  const prompt = async (more: object): Promise<string> => {
    const messages = [{ role: 'user', content: 'Ahoj' }];
    const { text } = await post(catnap, '/apply-template', { model: 'alpha', messages, ...more });
    return String(JSON.parse(text).prompt);
  };
  expect(await prompt({ source_lang_code: 'cs', target_lang_code: 'de' })).toBe('<Czech to German> Ahoj');
  expect(await prompt({ source_lang_code: 'mixed', target_lang_code: 'cs' })).toMatch(
    /^<English to Czech> .* Detect [^]*Ahoj$/,
  );

  const other = await post(catnap, '/v1/admin/models/alpha/load', { llama_server_n_ctx: 2048 });
  expect([other.status, codeOf(other.text)]).toEqual([400, 'invalid_load_request']);
  expect((await load(catnap, 'alpha', { llama_server_n_ctx: 1024 })).is_loaded).toBe(true);

  const gone = await post(catnap, '/v1/admin/models/alpha/unload');
  expect(ModelRow.parse(JSON.parse(gone.text)).load_override).toEqual({});
  expect((await load(catnap, 'alpha')).vram_estimate_source).toBe('model_artifact_size');
  expect(await context()).toBe(512);
});

test('a load that fails tells the operator why, and may be asked for again', async ({ expect, start, llama }) => {
  const catnap = await start({ models: { a: llama.file('/no/such/model.gguf') } });
  for (const _ of [1, 2]) {
    const { status, text } = await post(catnap, '/v1/admin/models/a/load');
    const { error } = ErrorAnswer.parse(JSON.parse(text));
    expect([status, error.code, error.model?.runtime_state]).toEqual([500, 'load_failed', 'failed']);
    expect(error.model?.last_error).toContain('model.gguf');
  }
  const { text } = await post(catnap, '/v1/admin/models/a/unload');
  expect(ModelRow.parse(JSON.parse(text)).runtime_state).toBe('unloaded');
});

test('replicas are loaded all together', async ({ expect, start }) => {
  const catnap = await start({ models: { a: { ...stub, replica_max: 3 } } });
  expect(await load(catnap, 'a', { replicas: 2 })).toMatchObject({ replicas: 2, loaded_replicas: 2, replica_max: 3 });
  const { status } = await post(catnap, '/v1/admin/models/a/load', { replicas: 3 });
  expect(status).toBe(400);
});

describe('the control API', () => {
  test('pins, and lets go', async ({ expect, start }) => {
    const catnap = await start({ models: { a: stub, b: stub } });
    const pinned = await post(catnap, '/control/pin', { model: 'a' });
    expect(ControlStatus.parse(JSON.parse(pinned.text))).toMatchObject({
      state: 'active:a',
      mode: { mode: 'manual', pinned: 'a' },
    });
    expect((await catnap.chat('a')).status).toBe(200);
    const refused = await catnap.chat('b');
    expect([refused.status, codeOf(refused.text)]).toEqual([503, 'manual_mode']);
    await post(catnap, '/control/switch', { model: 'b' });
    expect((await catnap.chat('b')).status).toBe(200);
    await post(catnap, '/control/unpin');
    expect((await catnap.chat('a')).status).toBe(200);
  });

  test('sleeps and wakes', async ({ expect, start }) => {
    const catnap = await start({ models: { a: stub } });
    await post(catnap, '/control/wake', { model: 'a' });
    const { text } = await post(catnap, '/control/sleep', { model: 'a', level: 1 });
    expect(ControlStatus.parse(JSON.parse(text)).models['a']?.process_state).toBe('sleeping:1');
    expect((await catnap.chat('a')).status).toBe(200);
  });

  test('a level that comes with a wake or a sleep holds until it is taken back, over a reload too', async ({
    expect,
    start,
    folder,
  }) => {
    const catnap = await start({ models: { a: { ...stub, levels_allowed: [1, 5] }, b: stub } });
    const state = async () => ControlStatus.parse(JSON.parse((await catnap.get('/control/status')).text)).models['a'];
    const woken = await post(catnap, '/control/wake', { model: 'a', level: 1 });
    expect([woken.status, ControlStatus.parse(JSON.parse(woken.text)).models['a']]).toEqual([
      200,
      expect.objectContaining({ process_state: 'running', effective_level: 1, level_override: 1 }),
    ]);
    await catnap.chat('b');
    expect(await state()).toMatchObject({ process_state: 'sleeping:1', level_override: 1 });

    // An unload is for once, and what is refused sets nothing.
    await post(catnap, '/v1/admin/models/a/unload');
    const bad = await post(catnap, '/control/wake', { model: 'a', level: 2 });
    expect([bad.status, codeOf(bad.text), bad.text]).toEqual([400, 'invalid_request', expect.stringContaining('1, 5')]);
    expect(await state()).toMatchObject({ process_state: 'not_started', effective_level: 1 });

    writeConfig(folder, { models: { a: { ...stub, levels_allowed: [1, 5], sleep_level: 1 }, b: stub } });
    expect((await post(catnap, '/v1/admin/reload')).status).toBe(200);
    await post(catnap, '/control/sleep', { model: 'a', level: 5 });
    await catnap.chat('a');
    await catnap.chat('b');
    expect(await state()).toMatchObject({ process_state: 'not_started', effective_level: 5, level_override: 5 });

    await post(catnap, '/control/sleep-level', { model: 'a' });
    await catnap.chat('a');
    await catnap.chat('b');
    expect(await state()).toMatchObject({ process_state: 'sleeping:1', effective_level: 1, level_override: null });
  });
});

test('the command line does all of it', async ({ expect, start, run }) => {
  const catnap = await start({ models: { a: stub, b: stub } });
  const at = ['--url', catnap.url];
  const said = async (...words: string[]) => {
    const { code, out, err } = await run([...words, ...at]);
    return [code, out + err];
  };
  expect(await said('load', 'a')).toEqual([0, 'a is loaded.\n']);
  expect(await said('unload', 'a', '--hold')).toEqual([0, 'a is unloaded, and no request brings it back.\n']);
  expect((await catnap.chat('a')).status).toBe(409);
  expect(await said('wake', 'a')).toEqual([0, 'a is awake; swaps are automatic.\n']);
  expect(await said('pin', 'b')).toEqual([0, 'b is awake; swaps are in manual mode, and b is pinned.\n']);
  expect(await said('sleep', 'b', '--level', '1')).toEqual([
    0,
    'No model is awake; swaps are in manual mode, and b is pinned.\nLevels that operators have set: b 1.\n',
  ]);
  expect(await said('wake', 'b', '--level', 'config')).toEqual([
    0,
    'b is awake; swaps are in manual mode, and b is pinned.\n',
  ]);
  expect(await said('wake', 'b', '--level', 'deep')).toEqual([2, expect.stringContaining('hybrid or config')]);
  expect(await said('wake', 'b', '--level', '3')).toEqual([1, expect.stringContaining('cannot be put to level 3')]);
  expect(await said('unpin')).toEqual([0, 'b is awake; swaps are automatic.\n']);
  expect(await said('load', 'nobody')).toEqual([1, expect.stringContaining('nobody')]);
  expect(await said('load', 'a', '--set', 'n=1')).toEqual([1, expect.stringContaining('there is no such field')]);
  expect(await said('load', 'a', '--set', 'n')).toEqual([2, expect.stringContaining('KEY=VALUE')]);
  const [code, json] = await said('load', 'a', '--json');
  expect([code, ModelRow.parse(JSON.parse(String(json))).is_loaded]).toEqual([0, true]);
});

test('what an engine prints can be read and followed', async ({ expect, start, run, llama }) => {
  const catnap = await start({ models: { a: await llama.says('I am a.') } });
  await load(catnap, 'a');
  const { code, out } = await run(['logs', 'a', '-n', '5', '--url', catnap.url]);
  expect([code, out.trimEnd().split('\n').length]).toEqual([0, 5]);
  const leaving = new AbortController();
  const following = await fetch(`${catnap.url}/v1/admin/logs/a?follow=true&lines=1`, { signal: leaving.signal });
  await catnap.chat('a');
  let text = '';
  for await (const chunk of following.body ?? []) {
    text += new TextDecoder().decode(chunk);
    if (text.trimEnd().split('\n').length > 2) break;
  }
  leaving.abort();
});

test('what happens is told as it happens, and again to whoever comes back', async ({ expect, start }) => {
  const catnap = await start({ models: { a: stub, b: stub } });
  await catnap.chat('a');
  await catnap.chat('b');
  const read = async (after: string, until: string): Promise<string> => {
    const leaving = new AbortController();
    const answer = await fetch(`${catnap.url}/v1/admin/events`, {
      headers: { 'last-event-id': after },
      signal: leaving.signal,
    });
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes(until)) break;
    }
    leaving.abort();
    return text;
  };
  const all = await read('0', '"to":"b"');
  expect(all).toContain('event: swap-planned');
  const [, id = ''] = /id: (\S+)\nevent: swap-planned\ndata: [^\n]*"to":"b"/.exec(all) ?? [];
  const rest = await read(id, '"to":"b"');
  expect(rest).not.toContain('"to":"a","from":[]');
  const { swaps } = SwapList.parse(JSON.parse((await catnap.get('/v1/admin/swaps')).text));
  expect(swaps.map(({ to, result }) => [to, result])).toEqual([
    ['b', 'done'],
    ['a', 'done'],
  ]);
});
