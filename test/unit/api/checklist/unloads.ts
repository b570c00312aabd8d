import { request } from 'node:http';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ModelRow } from '../../../../src/api/admin/contract.ts';
import { waitFor } from '../../../helpers/wait-for.ts';
import { said, type RealApp, type Row } from './real-app.ts';

/** Every file that catnap has written. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** Unloads, and who may ask for all of it. */
export const UNLOADS: readonly Row[] = [
  [
    99,
    'unload of nobody is 404',
    async (app, expect) => expect(said(await app.unload('nobody'))).toEqual([404, 'unknown_model']),
  ],
  [
    100,
    'unload of an unloaded one is 200',
    async (app, expect) => {
      await app.is('a', 'unloaded');
      expect(await app.unload('a')).toMatchObject({ status: 200, json: { runtime_state: 'unloaded' } });
    },
  ],
  [
    101,
    'unload of an unloading one is 200',
    async (app, expect) =>
      app.while('unloading', async (model) =>
        expect(await app.unload(model)).toMatchObject({ status: 200, json: { runtime_state: 'unloading' } }),
      ),
  ],
  [
    102,
    'loaded, unloading, unloaded',
    async (app, expect) => {
      expect((await app.is('long', 'loaded')).runtime_state).toBe('loaded');
      await app.while('unloading', async (model) => {
        expect((await app.row(model)).runtime_state).toBe('unloading');
      });
      expect((await app.row('long')).runtime_state).toBe('unloaded');
    },
  ],
  [
    103,
    'all replicas go',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      await app.load('org/x', { replicas: 3 });
      expect((await app.unload('org/x')).json).toMatchObject({ loaded_replicas: 0, runtime_state: 'unloaded' });
    },
  ],
  [
    104,
    'new requests are refused at once',
    async (app, expect) =>
      app.while('unloading', async (model) => expect(said(await app.chat(model))).toEqual([503, 'model_unloading'])),
  ],
  [
    105,
    'who is served finishes first',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const body = { max_tokens: 60 };
      const served = app.chat('long', body);
      await app.rowWhen('long', 'at work', ({ inflight_requests: open }) => open === 1);
      const unloaded = app.unload('long');
      expect((await served).status).toBe(200);
      expect((await unloaded).json).toMatchObject({ runtime_state: 'unloaded' });
    },
  ],
  [
    106,
    'it waits, and leaving does not take it back',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const stream = await app.stream();
      const caller = request({ port: app.port, path: app.at('long', 'unload'), method: 'POST' });
      caller.on('error', () => {});
      caller.end();
      await app.rowWhen('long', 'on its way', ({ runtime_state: now }) => now === 'unloading');
      caller.destroy();
      expect((await app.row('long')).runtime_state).toBe('unloading');
      stream.leave();
      await app.rowWhen('long', 'unloaded', ({ runtime_state: now }) => now === 'unloaded');
    },
  ],
  [
    107,
    'the answer is a full row',
    async (app, expect) => {
      const { json } = await app.unload('a');
      expect(Object.keys(ModelRow.parse(json))).toEqual(Object.keys(await app.row('a')));
    },
  ],
  [
    108,
    'who waits is told model_unloading',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const stream = await app.stream();
      const waits = app.chat('long');
      await app.rowWhen('long', 'waited for', ({ queue_depth: depth }) => depth === 1);
      await app.unload('long', '?wait=false');
      expect(said(await waits)).toEqual([503, 'model_unloading']);
      stream.leave();
      await app.is('long', 'unloaded');
    },
  ],
  [
    109,
    'streams count until they are left',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const stream = await app.stream();
      await app.rowWhen('long', 'well under way', () => stream.body.length > 2_000);
      expect((await app.row('long')).inflight_requests).toBe(1);
      stream.leave();
      await app.rowWhen('long', 'free', ({ inflight_requests: open }) => open === 0);
    },
  ],
  [
    110,
    'unloaded means that nothing is left',
    async (app, expect) => {
      await app.is('org/x', 'loaded');
      const { port } = (await app.row('org/x')).engines[0] ?? {};
      expect(await app.is('org/x', 'unloaded')).toMatchObject({ loaded_replicas: 0, residency: 'none' });
      for (const { phase, pid, port: still } of (await app.row('org/x')).engines) {
        expect([phase, pid, still]).toEqual(['off', null, null]);
      }
      if (typeof port === 'number') await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow();
    },
  ],
  [
    111,
    'a level instead of the end',
    async (app, expect) => {
      await app.is('a', 'loaded');
      expect((await app.unload('a', '?level=1')).json).toMatchObject({ runtime_state: 'unloaded', residency: 'host' });
      expect(said(await app.unload('a', '?level=9'))).toEqual([400, 'invalid_load_request']);
    },
  ],
  [
    112,
    'held for good, until it is loaded',
    async (app, expect) => {
      await app.is('a', 'loaded');
      expect((await app.unload('a', '?hold=true')).json).toMatchObject({ hold: true });
      expect(said(await app.chat('a'))).toEqual([409, 'model_not_loaded']);
      expect((await app.load('a')).json).toMatchObject({ hold: false, runtime_state: 'loaded' });
      expect((await app.chat('a')).status).toBe(200);
    },
  ],
  [
    113,
    'operators alone: no web page, no stranger',
    async (app, expect) => {
      for (const headers of [
        { origin: 'https://evil.example.org' },
        { 'sec-fetch-site': 'cross-site' },
        { host: 'evil.example.org' },
      ]) {
        expect((await app.post(app.at('a', 'unload'), '', headers)).status).toBe(403);
      }
    },
  ],
  [
    114,
    'names with slashes',
    async (app, expect) => {
      for (const name of ['org/x', 'org%2Fx']) expect((await app.row(name)).name).toBe('org/x');
      expect((await app.load('other%2Fname')).json).toMatchObject({ name: 'a' });
      expect((await app.unload('org%2Fx')).json).toMatchObject({ name: 'org/x' });
    },
  ],
  [
    115,
    'other methods are 405 with Allow',
    async (app, expect) => {
      const { status, headers } = await app.get(app.at('a', 'load'));
      // It is the row of a model called `a/load`, which there is not.
      expect(status).toBe(404);
      expect(headers['x-catnap-error']).toBe('unknown_model');
      const posted = await app.post('/v1/admin/models');
      expect([posted.status, posted.headers.allow]).toEqual([405, expect.stringContaining('GET')]);
    },
  ],
  [
    116,
    'trailing data and no object are 422, any Content-Type',
    async (app, expect) => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json']) {
        const headers = { 'content-type': type };
        expect((await app.post(app.at('a', 'load'), '{} x', headers)).status).toBe(422);
        expect((await app.post(app.at('a', 'load'), '"x"', headers)).status).toBe(422);
        expect((await app.post(app.at('a', 'load'), '{}', headers)).status).toBe(200);
      }
    },
  ],
  [
    117,
    'loads of two models wait for each other',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      const [x, a, off] = await Promise.all([app.load('org/x'), app.load('a'), app.load('off')]);
      expect([x.status, a.status, off.status]).toEqual([200, 200, 200]);
      expect((await app.list()).models.filter(({ is_loaded, name }) => is_loaded && !'rt'.includes(name))).toHaveLength(
        1,
      );
    },
  ],
  [
    118,
    'acts of operators are told, refused ones too',
    async (app, expect) => {
      await app.unload('nobody');
      await waitFor('the act to be told', () =>
        app.facts.some(
          (fact) =>
            fact.kind === 'admin-acted' && fact.status === 404 && fact.action === 'POST /v1/admin/models/nobody/unload',
        ),
      );
      for (const file of filesIn(app.file)) expect(readFileSync(file, 'latin1')).not.toContain('hush-hush');
    },
  ],
  [
    119,
    'metrics per state',
    async (app, expect) => {
      await app.is('a', 'loaded');
      const { json } = await app.get('/metrics');
      const text = String(json['text']);
      expect(text).toContain('catnap_engine_state{model="a",state="awake"} 1');
      expect(text).toContain('catnap_engine_state{model="a",state="off"} 0');
    },
  ],
  [
    120,
    'events as they happen',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      const events = await followed(app);
      await app.load('org/x');
      await waitFor('the swap to be told', () => /^event: swap-finished$/m.test(events.text()));
      const [id = '', run, number] = /(?<=^id: )(\w+)\.(\d+)/m.exec(events.text()) ?? [];
      events.leave();
      const again = await followed(app, `${run}.${Number(number) - 1}`);
      await waitFor('what was missed', () => again.text().includes(`id: ${id}\n`));
      again.leave();
      expect(Number(number)).toBeGreaterThan(0);
    },
  ],
];
/** The stream of facts, from now on or after one of them. */
async function followed(app: RealApp, after?: string): Promise<{ text: () => string; leave: () => void }> {
  let text = '';
  const path = `/v1/admin/events${after === undefined ? '' : `?after=${after}`}`;
  const { promise, resolve } = Promise.withResolvers<void>();
  const req = request({ port: app.port, path }, (res) => {
    res.setEncoding('utf8');
    res.on('data', (part: string) => {
      text += part;
    });
    res.on('error', () => {});
    resolve();
  });
  req.on('error', () => {});
  req.end();
  await promise;
  return { text: () => text, leave: () => void req.destroy() };
}
