import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ConfigInput } from '../../src/config/schema.ts';
import { Random } from '../../src/simulate/random.ts';
import { chatBody, JSON_BODY, type Catnap } from '../helpers/catnap.ts';
import { editor } from '../helpers/config-storm.ts';
import { Crowd } from '../helpers/crowd.ts';
import { test } from '../helpers/e2e.ts';
import { waitFor } from '../helpers/wait-for.ts';

const SECS = Number(process.env['RELOAD_STORM_SECS'] ?? 4);
const SEED = Number(process.env['RELOAD_STORM_SEED'] ?? 5);
const ENGINE = join(import.meta.dirname, '../fixtures/engine.ts');

/** Two of them fit. `same` and `kept` are never changed; the others come, change and go. */
const CONFIG: ConfigInput = {
  gpu: { capacity_mib: 2 },
  policy: { request_timeout_secs: 600, drain_timeout_secs: 600 },
  models: {
    same: { backend: 'stub', tokens: 30, token_ms: 10, footprint: { gpu_mib: 1 } },
    kept: { backend: 'command', command: [process.execPath, ENGINE, '--port', '${PORT}'], footprint: { gpu_mib: 1 } },
    a: { backend: 'stub', tokens: 20, token_ms: 10, start_ms: 10, footprint: { gpu_mib: 1 } },
    b: { backend: 'stub', replica_max: 2, tokens: 5, token_ms: 10, footprint: { gpu_mib: 1 } },
    c: { backend: 'command', command: [process.execPath, ENGINE, '--port', '${PORT}'], footprint: { gpu_mib: 1 } },
  },
};
const STAYS = ['same', 'kept'];
/** What whoever asks for one of the others is told: some configs have it not, or disabled. */
const COMES_AND_GOES = [
  'whole',
  '404 model_not_found',
  '403 model_disabled',
  '503 model_loading',
  '503 model_unloading',
];

test(
  `${SECS} s of configs against streams and slow uploads: nobody is cut, and whoever asks for what is there is served`,
  { timeout: 90_000 + SECS * 2_000 },
  async ({ expect, start, folder }) => {
    const catnap = await start(CONFIG, { env: { CATNAP_LOG: 'info,output=off' } });
    const sockets = socketsOf(catnap.pid);
    const crowd = new Crowd(SECS, { reload: SECS + 1, whole: SECS + 1 });
    const client = async (random: Random): Promise<void> => {
      while (crowd.goesOn) {
        const model = random.pick(['same', 'kept', 'a', 'b', 'c']);
        const streams = model !== 'kept' && model !== 'c' && random.chance(0.5);
        const what = `${streams ? 'stream' : 'upload'} of ${model}`;
        const end = await crowd.bounded(what, streams ? streamed(catnap, model) : uploaded(catnap, model, random));
        if (end === undefined) continue;
        crowd.did(end);
        const may = STAYS.includes(model) ? ['whole'] : COMES_AND_GOES;
        if (!may.includes(end)) crowd.wrong.push(`${what}: ${end}`);
      }
    };
    const clients = Array.from({ length: 6 }, (_, at) => client(new Random(SEED * 100 + at)));
    const terms = { config: CONFIG, keep: STAYS, folder };
    const [reloads] = await Promise.all([editor(crowd, catnap, terms, new Random(SEED)), ...clients]);
    expect(crowd.wrong).toEqual([]);
    expect(reloads).toBeGreaterThan(SECS);
    expect(crowd.times('whole')).toBeGreaterThan(SECS);
    expect(catnap.facts('leases-cut')).toEqual([]);
    expect(catnap.facts('warned').filter(({ msg }) => msg.includes('bug'))).toEqual([]);

    // Everybody is there again, and has nothing left of what it was: once all are put away, no process and no socket is.
    const { models } = await catnap.models();
    expect(models.map(({ name }) => name).toSorted()).toEqual(Object.keys(CONFIG.models).toSorted());
    for (const name of Object.keys(CONFIG.models)) {
      expect((await catnap.chat(name)).status).toBe(200);
      expect((await catnap.ask(`/v1/admin/models/${name}/unload`)).status).toBe(200);
    }
    expect(childrenOf(catnap.pid)).toEqual([]);
    await waitFor('the last connection to be closed', () => socketsOf(catnap.pid) <= sockets);
  },
);

async function streamed(catnap: Catnap, model: string): Promise<string> {
  const stream = await catnap.stream(model);
  const end = await stream.closed;
  return stream.status === 200 ? end : `${stream.status} ${String(stream.headers['x-catnap-error'])}`;
}

/** A body that comes in pieces, so that the config is another one before it is there. */
function uploaded(catnap: Catnap, model: string, random: Random): Promise<string> {
  const body = chatBody(model, { padding: 'x'.repeat(random.int(0, 2_000)) });
  const [name, rest] = [body.slice(0, body.indexOf(',')), body.slice(body.indexOf(','))];
  const wait = [random.int(0, 100), random.int(0, 100)];
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: catnap.port,
      path: '/v1/chat/completions',
      method: 'POST',
      agent: false,
    };
    const req = request({ ...options, headers: { ...JSON_BODY, 'content-length': Buffer.byteLength(body) } }, (res) => {
      res.resume();
      res.once('close', () => {
        if (res.statusCode !== 200) resolve(`${res.statusCode} ${String(res.headers['x-catnap-error'])}`);
        else resolve(res.complete ? 'whole' : 'cut');
      });
    });
    let answered = false;
    req.once('response', () => {
      answered = true;
    });
    // It may be refused before all of it has come.
    req.once('error', (error) => answered || reject(error));
    const send = async (): Promise<void> => {
      req.flushHeaders();
      await pause(wait[0]);
      req.write(name);
      await pause(wait[1]);
      req.end(rest);
    };
    send().catch(reject);
  });
}

const childrenOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );

const socketsOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/fd`).filter((fd) => targetOf(`/proc/${pid}/fd/${fd}`).startsWith('socket:')).length;

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // it was closed meanwhile
  }
}
