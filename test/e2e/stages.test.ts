import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput, ModelInput } from '../../src/config/schema.ts';
import { chatBody, JSON_BODY, writeConfig, type Catnap } from '../helpers/catnap.ts';
import { test } from '../helpers/e2e.ts';
import { httpUpstream } from '../helpers/upstream.ts';

const ENGINE = join(import.meta.dirname, '../fixtures/engine.ts');

type OwnProcess = Extract<ModelInput, { backend: 'command' }>;
type Held = { readonly model: OwnProcess; hold(): void; release(): void };

/** An engine that keeps its answers back while a file is there. */
function held(folder: string, name: string): Held {
  const file = join(folder, `${name}.hold`);
  return {
    model: { backend: 'command', command: [process.execPath, ENGINE, '--port', '${PORT}', '--hold-while', file] },
    hold: () => writeFileSync(file, ''),
    release: () => rmSync(file, { force: true }),
  };
}

/** An engine that starts when a file is there, and not before. */
function gated(folder: string, name: string): { readonly model: OwnProcess; open(): void } {
  const file = join(folder, `${name}.open`);
  const script = `while [ ! -e "${file}" ]; do sleep 0.02; done; exec "${process.execPath}" "${ENGINE}" --port "$0"`;
  return {
    model: { backend: 'command', command: ['sh', '-c', script, '${PORT}'] },
    open: () => writeFileSync(file, ''),
  };
}

const listed = async (catnap: Catnap): Promise<ReadonlyMap<string, number | null>> => {
  const { data } = JSON.parse((await catnap.get('/v1/models')).text);
  return new Map(
    data.map(({ id, ready_in_secs }: { id: string; ready_in_secs: number | null }) => [id, ready_in_secs]),
  );
};

test('stages do not wait for each other, whoever was cut is asked again, and the hardware goes home', async ({
  expect,
  start,
  folder,
}) => {
  const alpha = held(folder, 'alpha');
  const beta = gated(folder, 'beta');
  const delta = gated(folder, 'delta');
  const models: ConfigInput['models'] = {
    tiny: { backend: 'stub', keep: true, stage: 'main' },
    alpha: { ...alpha.model, stage: 'main' },
    beta: { ...beta.model, stage: 'main' },
    gamma: { backend: 'stub', stage: 'side' },
    delta: { ...delta.model, stage: 'side' },
  };
  const config = (policy: ConfigInput['policy']): ConfigInput => ({
    stages: { main: {}, side: {} },
    policy,
    models,
  });
  const catnap = await start(config({ max_parallel_loads: 1, drain_timeout_secs: 0.3 }));
  const reload = async (policy: ConfigInput['policy']): Promise<void> => {
    writeConfig(folder, config(policy));
    expect((await catnap.ask('/v1/admin/reload', {})).status).toBe(200);
  };
  const ok = async (model: string): Promise<void> => expect((await catnap.chat(model)).status).toBe(200);

  // Alpha works on something it does not finish. The other stage has a turn, and so has whoever is kept beside alpha.
  await ok('alpha');
  alpha.hold();
  const cut = catnap.chat('alpha');
  await catnap.fact('request-granted', { model: 'alpha' }, 2);
  await ok('gamma');
  await ok('tiny');
  expect(await catnap.model('alpha')).toMatchObject({ runtime_state: 'loaded', runtime_inflight: 1 });
  expect((await catnap.told('swap-planned')).map(({ to, from }) => [to, from])).toEqual([
    ['alpha', []],
    ['gamma', []],
    ['tiny', []],
  ]);
  const idle = await listed(catnap);
  expect([idle.get('alpha'), idle.get('gamma'), idle.get('tiny')]).toEqual([0, 0, 0]);
  expect(idle.get('beta')).toBeGreaterThan(0);
  expect(idle.get('delta')).toBeGreaterThan(0);

  // Beta is wanted. At the deadline of the drain alpha's request has had no byte, and goes back to its place in line.
  const second = catnap.chat('beta');
  await catnap.fact('request-returned', { model: 'alpha' });
  await catnap.fact('engine-moved', { model: 'beta', to: 'starting' });
  await ok('tiny');
  await ok('gamma');

  // One model loads at a time, on all stages together, until the config says otherwise.
  const third = catnap.chat('delta');
  await expect.poll(() => catnap.model('delta')).toMatchObject({ waits_for_loads: true, queue_depth: 1 });
  expect(await catnap.told('engine-moved', { model: 'delta' })).toEqual([]);
  delta.open();
  // Nobody is cut any more, however long it takes.
  await reload({ max_parallel_loads: 2 });
  expect((await third).status).toBe(200);
  expect(await catnap.model('beta')).toMatchObject({ runtime_state: 'loading' });

  // Beta has its turn, and then alpha's first request has its answer: it was asked again in the next turn of its model.
  beta.open();
  expect((await second).status).toBe(200);
  await catnap.fact('request-granted', { model: 'alpha' }, 3);
  alpha.release();
  expect((await cut).status).toBe(200);
  expect(await catnap.told('request-arrived', { model: 'alpha' })).toHaveLength(2);
  expect(await catnap.told('request-returned')).toHaveLength(1);
  expect(await catnap.told('engine-started', { model: 'tiny' })).toHaveLength(1);

  // Nobody asks for anything, so the hardware goes back to beta, and nobody asked for it.
  const asked = (await catnap.told('request-arrived')).length;
  await reload({ idle_target: 'beta', idle_target_after_secs: 0.2 });
  await catnap.fact('swap-finished', { to: 'beta', result: 'done' }, 2);
  expect(await catnap.model('beta')).toMatchObject({ runtime_state: 'loaded', is_loaded: true });
  expect(await catnap.model('tiny')).toMatchObject({ is_loaded: true });
  expect(await catnap.told('request-arrived')).toHaveLength(asked);
});

test('x-catnap-next is not passed on, and changes nothing about the request', async ({
  expect,
  start,
  onTestFinished,
}) => {
  const seen: (readonly string[])[] = [];
  const upstream = await httpUpstream((request, response) => {
    if (request.method === 'POST') seen.push(Object.keys(request.headers));
    request.resume().once('end', () => response.end('{"choices":[]}'));
  });
  onTestFinished(upstream.close);
  const catnap = await start({
    models: {
      alpha: { backend: 'openai_remote', url: upstream.origin },
      beta: { backend: 'stub' },
      gamma: { backend: 'stub' },
    },
  });
  await catnap.chat('beta');
  for (const next of ['gamma', 'alpha', 'nobody', 'x'.repeat(500)]) {
    const headers = { ...JSON_BODY, 'x-catnap-next': next };
    for (const model of ['alpha', 'beta'])
      expect((await catnap.ask('/v1/chat/completions', { body: chatBody(model), headers })).status).toBe(200);
  }
  expect(seen).toHaveLength(4);
  expect(seen.flat().filter((name) => name.startsWith('x-catnap'))).toEqual([]);
  // It is no wish for a turn.
  expect((await catnap.told('swap-planned')).filter(({ to }) => to === 'gamma')).toEqual([]);
  expect(await catnap.model('gamma')).toMatchObject({ runtime_state: 'unloaded' });
});
