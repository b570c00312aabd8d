import { setTimeout as pause } from 'node:timers/promises';
import { join } from 'node:path';
import {
  CancelledRequests,
  ErrorAnswer,
  GpuMemory,
  ModelList,
  ModelRow,
  RequestList,
  SwapList,
} from '../../src/api/admin/contract.ts';
import { ControlStatus, SleepLevels } from '../../src/api/control/contract.ts';
import { OUTCOMES } from '../../src/core/outcome.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import { Random } from '../../src/simulate/random.ts';
import { chatBody, JSON_BODY, type Catnap } from './catnap.ts';
import { ask, type Asking, type Reply } from './client.ts';
import { Crowd } from './crowd.ts';
import { EventStream } from './event-stream.ts';

const ENGINE = join(import.meta.dirname, '../fixtures/engine.ts');
const MODELS = ['a', 'b', 'c', 'org/d', 'e'] as const;

/** Five models, of which one or two fit: one that requests wake, one that only operators do, one of two engines, one that sleeps, and a process. */
export const STORM: ConfigInput = {
  gpu: { capacity_mib: 2 },
  policy: { request_timeout_secs: 2, drain_timeout_secs: 2 },
  models: {
    a: { backend: 'stub', token_ms: 5, tokens: 8, start_ms: 10, footprint: { gpu_mib: 1 } },
    b: { backend: 'stub', activation: 'explicit', start_ms: 20, footprint: { gpu_mib: 2 } },
    c: { backend: 'stub', replica_max: 2, start_ms: 15, first_token_ms: 20, footprint: { gpu_mib: 1 } },
    'org/d': {
      backend: 'stub',
      sleep_level: 1,
      sleep_ms: 10,
      wake_ms: 10,
      token_ms: 20,
      tokens: 20,
      footprint: { gpu_mib: 2 },
    },
    e: { backend: 'command', command: [process.execPath, ENGINE, '--port', '${PORT}'], footprint: { gpu_mib: 1 } },
  },
};

type Order = {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** What it may be answered with besides 200. */
  readonly may: readonly (readonly [status: number, code: string])[];
  readonly read: { parse(value: unknown): unknown };
};

export type StormEnd = {
  readonly wrong: readonly string[];
  readonly sent: number;
  /** Clients that left of themselves, perhaps before catnap heard of them. */
  readonly left: number;
  readonly orders: number;
};

export type StormTerms = {
  readonly secs: number;
  readonly seed: number;
  /** Whoever else is in the crowd. Models may come and go by what he does. */
  readonly besides?: (crowd: Crowd, random: Random) => Promise<unknown>;
};

/** Operators, clients and lookers-on at once, each after a sequence of its own. Every answer must be one of those that are allowed, and come. */
export async function adminStorm(catnap: Catnap, { secs, seed, besides }: StormTerms): Promise<StormEnd> {
  const enough = 2 * secs + 1;
  const all = new Crowd(secs, { request: enough, order: enough, ...(besides !== undefined && { reload: secs + 1 }) });
  const { wrong } = all;
  const allowed = besides === undefined ? ALLOWED : new Set([...ALLOWED, '404 model_not_found']);
  let left = 0;

  const operator = async (random: Random): Promise<void> => {
    while (all.goesOn) {
      const order = orderOf(random, await someRequest(catnap, random), besides !== undefined);
      const what = `${order.method} ${order.path} ${JSON.stringify(order.body ?? '')}`;
      const { method, path, body } = order;
      const asking: Asking = { method, headers: JSON_BODY, ...(body && { body: JSON.stringify(body) }) };
      const reply = await all.bounded(what, catnap.ask(path, asking));
      all.did('order');
      if (reply !== undefined) wrong.push(...flaws(what, reply, order));
    }
  };

  const client = async (random: Random): Promise<void> => {
    while (all.goesOn) {
      const model = random.pick(MODELS);
      all.did('request');
      const stream = random.chance(0.4);
      const what = `${stream ? 'stream' : 'chat'} of ${model}`;
      const leave = random.chance(0.2) ? AbortSignal.timeout(random.int(1, 60)) : undefined;
      const told = await all.bounded(what, stream ? streamed(catnap, model, leave) : asked(catnap, model));
      if (told === 'left') left++;
      if (told !== undefined && !allowed.has(told)) wrong.push(`${what}: ${told}`);
    }
  };

  const looker = async (random: Random): Promise<void> => {
    while (all.goesOn) {
      const [path, schema] = random.pick(LOOKS);
      const reply = await all.bounded(path, catnap.get(path));
      if (reply === undefined) continue;
      const read = schema.safeParse(JSON.parse(reply.text));
      if (reply.status !== 200 || !read.success) wrong.push(`${path}: ${reply.status} ${reply.text.slice(0, 300)}`);
      else if (path === '/v1/admin/models') wrong.push(...contradictions(ModelList.parse(read.data)));
      await pause(random.int(1, 20));
    }
  };

  const crowd = [client, client, client, client, operator, operator, operator, looker, looker];
  const acts = besides === undefined ? crowd : [...crowd, (random: Random) => besides(all, random)];
  await Promise.all(acts.map((act, at) => act(new Random(seed * 100 + at))));
  return { wrong, sent: all.times('request'), left, orders: all.times('order') };
}

const LOOKS = [
  ['/v1/admin/models', ModelList],
  ['/v1/admin/models', ModelList],
  ['/v1/admin/models/org/d', ModelRow],
  ['/v1/admin/requests?limit=3', RequestList],
  ['/v1/admin/gpu-memory', GpuMemory],
  ['/v1/admin/swaps?limit=5', SwapList],
  ['/control/status', ControlStatus],
  ['/control/sleep-levels', SleepLevels],
] as const;

const CLASHES = [
  [400, 'invalid_load_request'],
  [409, 'invalid_state'],
  [500, 'load_failed'],
  [503, 'model_unloading'],
  [504, 'load_timeout'],
] as const;

const GIVEN_UP = [
  [409, 'model_not_loaded'],
  [503, 'wait_timeout'],
  [503, 'engine_failed'],
] as const;

/** The config has the model no more. */
const NOBODY = [
  [404, 'unknown_model'],
  [404, 'model_not_found'],
] as const;

/** One thing an operator may do. */
function orderOf(random: Random, request: string | undefined, comeAndGo: boolean): Order {
  const model = random.pick(MODELS);
  const at = `/v1/admin/models/${random.chance(0.5) ? model : encodeURIComponent(model)}`;
  const how = random.pick(['', '?wait=false', '?timeout_s=0.05', '?wait=false&timeout_s=1']);
  const may = [...CLASHES, ...GIVEN_UP, ...(comeAndGo ? NOBODY : [])];
  const told = { method: 'POST', may };
  const depth = random.pick<object>([{}, { level: null }, { level: 5 }, { level: model === 'org/d' ? 1 : 5 }]);
  switch (random.int(0, 11)) {
    case 0:
    case 1:
    case 2: {
      const body = random.chance(0.3) ? { replicas: random.int(1, 2) } : {};
      return { ...told, path: `${at}/load${how}`, body, read: ModelRow };
    }
    case 3:
    case 4: {
      const flags = ['hold=true', 'cancel=true', 'level=1', 'level=5'].filter(() => random.chance(0.3));
      const query = [how.slice(1), ...flags].filter((part) => part !== '').join('&');
      return { ...told, path: `${at}/unload?${query}`, read: ModelRow };
    }
    case 5: {
      const act = random.pick(['pin', 'switch', 'wake']);
      return { ...told, path: `/control/${act}`, body: { model, ...(act === 'wake' && depth) }, read: ControlStatus };
    }
    case 6:
      return { ...told, path: '/control/sleep', body: { model, ...depth }, read: ControlStatus };
    case 7:
      return { ...told, path: '/control/unpin', read: ControlStatus };
    case 8:
      return {
        ...told,
        path: '/control/mode',
        body: { mode: random.pick(['auto', 'auto', 'manual']) },
        read: ControlStatus,
      };
    case 9:
      return { ...told, path: '/control/sleep-level', body: { model, ...depth }, read: SleepLevels };
    default: {
      const path = `/v1/admin/requests/${encodeURIComponent(request ?? 'nobody')}`;
      return { method: 'DELETE', path, may: [[404, 'request_not_found']], read: CancelledRequests };
    }
  }
}

/** The id of a request that is open now. */
async function someRequest(catnap: Catnap, random: Random): Promise<string | undefined> {
  if (random.chance(0.7)) return undefined;
  const { requests } = RequestList.parse(JSON.parse((await catnap.get('/v1/admin/requests?limit=20')).text));
  const [first, ...others] = requests;
  return first && random.pick([first, ...others]).id;
}

function flaws(what: string, { status, text }: Reply, { may, read }: Order): string[] {
  if (status === 200 || status === 202) {
    try {
      read.parse(JSON.parse(text));
      return [];
    } catch (error) {
      return [`${what}: ${String(error)}`];
    }
  }
  const { code } = ErrorAnswer.parse(JSON.parse(text)).error;
  return may.some(([allowed, as]) => allowed === status && as === code) ? [] : [`${what}: ${status} ${code}: ${text}`];
}

/** What a client may be told. */
const ALLOWED: ReadonlySet<string> = new Set([
  '200',
  'left',
  'whole',
  '403 model_disabled',
  '409 model_not_loaded',
  '429 lane_full',
  '503 model_unloading',
  '503 model_loading',
  '503 model_failed',
  '503 manual_mode',
  '503 wait_timeout',
  '503 engine_failed',
  '503 drained',
  '503 request_cancelled',
  '502 engine_died',
  '502 engine_unreachable',
  'cut request_cancelled',
  'cut drained',
  'cut engine_died',
]);

async function asked(catnap: Catnap, model: string): Promise<string> {
  const reply = await ask(catnap.port, '/v1/chat/completions', { body: chatBody(model), headers: JSON_BODY });
  const { status, headers, whole } = reply;
  if (status === 200) return whole ? '200' : 'cut request_cancelled';
  return `${status} ${String(headers['x-catnap-error'])}`;
}

async function streamed(catnap: Catnap, model: string, leave: AbortSignal | undefined): Promise<string> {
  try {
    const stream = await EventStream.open(
      catnap.port,
      '/v1/chat/completions',
      chatBody(model, { stream: true }),
      leave,
    );
    const how = await stream.closed;
    if (leave?.aborted === true) return 'left';
    if (stream.status !== 200) return `${stream.status} ${String(stream.headers['x-catnap-error'])}`;
    return how === 'whole' ? 'whole' : `cut ${/"code":"(\w+)"/.exec(stream.body)?.[1] ?? 'without a word'}`;
  } catch (error) {
    if (leave?.aborted === true) return 'left';
    throw error;
  }
}

/** What cannot be true of one reading of the whole. */
function contradictions({ models }: ModelList): string[] {
  return models.flatMap((row) => {
    const { name, runtime_state: state, is_loaded, loaded_replicas, replicas, inflight_requests, engines } = row;
    const wrong = [
      is_loaded !== (state === 'loaded') && 'is_loaded is not its state',
      is_loaded && loaded_replicas < 1 && 'loaded, with no engine awake',
      loaded_replicas > engines.length && 'more engines awake than there are',
      replicas > row.replica_max && 'more replicas than there may be',
      inflight_requests > 0 && state === 'unloaded' && 'it serves and is unloaded',
    ];
    return wrong.flatMap((flaw) => (flaw === false ? [] : [`${name}: ${flaw}: ${JSON.stringify(row)}`]));
  });
}

/** The sum of all requests that have ended, however they did. */
export async function endedRequests(catnap: Catnap): Promise<number> {
  const { text } = await catnap.get('/metrics');
  const counts = [...text.matchAll(/^catnap_requests_total\{[^}]*outcome="(\w+)"\} (\d+)$/gm)];
  return counts.reduce((sum, [, outcome = '', count]) => sum + (outcome in OUTCOMES ? Number(count) : Number.NaN), 0);
}
