import { readFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import { ModelRow, RuntimeState } from '../../../src/api/admin/contract.ts';
import { CONSTRAINTS } from '../../../src/api/admin/constraints/tables.ts';
import { controlPlane } from '../../../src/api/plane.ts';
import type { ModelView } from '../../../src/runtime/view.ts';
import { listen } from './listener.ts';
import { alpha, beta, deps, engine, model, phases, stage } from './scene.ts';

/** What the contract of the admin API promises, item by item: asked here, or shown by a test that is named, or listed as not built. */
type Row = readonly [item: string, says: string, held: Held];
type Held = (() => Promise<unknown>) | readonly [file: string, title: string] | { readonly notBuilt: string };

const root = new URL('../../../', import.meta.url);
const textOf = (file: string): string => readFileSync(new URL(file, root), 'utf8');

const ORDERS = 'test/unit/api/orders.test.ts';
const BODY = 'test/unit/api/load-body.test.ts';
const E2E = 'test/e2e/admin.test.ts';
const EXPLICIT = 'test/scenarios/explicit-model.txt';
const OPENAPI = 'test/unit/api/openapi.test.ts';

async function ask(path: string, view: ModelView = model(alpha, phases.awake), method = 'GET', body = '') {
  await using server = await listen(controlPlane(deps(() => stage([view, model(beta, phases.off)])).deps));
  const answer = await server.ask(path, method === 'GET' ? {} : { method, body });
  return { ...answer, json: JSON.parse(answer.body) as unknown };
}

const row = async (view?: ModelView): Promise<ModelRow> =>
  ModelRow.parse((await ask('/v1/admin/models/alpha', view)).json);

/** A promise about one row. */
const rowHas =
  (holds: (row: ModelRow) => boolean, view?: ModelView): (() => Promise<unknown>) =>
  async () =>
    holds(await row(view)) || Promise.reject(new Error('the row is otherwise'));

const has =
  (...keys: (keyof ModelRow)[]): (() => Promise<unknown>) =>
  async () => {
    const told = await row();
    for (const key of keys) if (!(key in told)) throw new Error(`the row has no ${key}`);
  };

const status =
  (path: string, wanted: number, view?: ModelView, body?: string): (() => Promise<unknown>) =>
  async () => {
    const answer = await ask(path, view, 'POST', body);
    if (answer.status !== wanted) throw new Error(`${answer.status}, not ${wanted}: ${answer.body}`);
  };

const LOAD = '/v1/admin/models/alpha/load';
const UNLOAD = '/v1/admin/models/alpha/unload';
const off = model(alpha, phases.off);
const leaving = model(alpha, phases.stopping, { part: 'leaving' });
const loading = model(alpha, phases.starting, { part: 'entering' });

const kindOf =
  (backend: string, field: string): (() => Promise<unknown>) =>
  async () => {
    if (CONSTRAINTS[backend]?.[field] === undefined) throw new Error(`${backend} has no ${field}`);
  };

const ROWS: readonly Row[] = [
  [
    '1',
    'live control only, no config file is written',
    ['docs/admin.md', 'Nothing here is written to the config file'],
  ],
  ['2', 'no definitions of models by the API', status('/v1/admin/models/new/load', 404, off)],
  ['3', 'no forced unload', status(`${UNLOAD}?force=true`, 200)],
  ['4', 'a load answers when it is done, or 202 at once', [ORDERS, 'is answered 202 with the model as it is']],
  ['5', 'the live load_constraints count', has('load_constraints')],
  ['6', 'config and live state are apart', rowHas((told) => told.configured_enabled && !told.is_loaded, off)],
  ['7', 'a file and its .local file are merged', ['test/unit/config/load.test.ts', '.local']],
  ['8', 'OpenAPI with a description everywhere', [OPENAPI, 'is described, and answers as described']],
  ['9', 'configured, state and last error can be shown', has('configured_enabled', 'runtime_state', 'last_error')],
  ['10', 'what is out of scope stays out', status('/v1/admin/models', 405)],
  ['11', 'five states exactly', async () => RuntimeState.options.length === 5 || Promise.reject(new Error('not five'))],
  ['12', 'the state may differ from enabled', rowHas((told) => told.configured_enabled, off)],
  [
    '13',
    'asleep is unloaded, with its residency',
    rowHas((t) => t.runtime_state === 'unloaded' && t.residency === 'host', model(alpha, phases.asleep)),
  ],
  ['14', 'unloaded: rejected, may be loaded', [EXPLICIT, 'model_not_loaded']],
  ['15', 'loading: rejected, loading again is idempotent', [EXPLICIT, 'model_loading']],
  ['16', 'loaded: serves, may be unloaded', [EXPLICIT, 'grant 3']],
  ['17', 'unloading: nothing new, who is served finishes', [E2E, 'lets who is served finish']],
  ['18', 'failed: the error is kept, may be loaded again', [E2E, 'a load that fails tells the operator why']],
  [
    '19',
    'last_error is cleared by a start',
    ['test/unit/api/plane.test.ts', 'keeps the failure of a model that was tried again'],
  ],
  ['20', 'a crash while loaded is failed', ['test/scenarios/explicit-model-that-died.txt', 'model_failed']],
  ['21', 'an unload of a failed one leads to unloaded', [E2E, "runtime_state).toBe('unloaded')"]],
  ['22', 'an unload while loading is 409', status(UNLOAD, 409, loading)],
  ['23', 'loaded accepts, all others reject', [EXPLICIT, 'model_unloading']],
  ['24', 'codes a program can read', ['src/core/errors.ts', 'model_failed:']],
  ['25', 'their statuses, Retry-After and x-should-retry', [E2E, "x-should-retry']).toBe('false')"]],
  ['26', 'on_demand models are held and loaded', ['test/scenarios/life-of-a-request.txt', 'grant']],
  ['27', 'disabled ones are loaded by an operator alone', [E2E, 'enabled: false']],
  ['28', 'thinking of a request', { notBuilt: 'thinking_unsupported' }],
  ['29', 'requests of TranslateGemma', { notBuilt: 'translategemma_template' }],
  ['30', 'name', has('name')],
  ['31', 'resolved_backend', has('resolved_backend')],
  ['32', 'configured_enabled', has('configured_enabled')],
  ['33', 'runtime_state', has('runtime_state')],
  ['34', 'is_loaded', rowHas(({ is_loaded }) => is_loaded)],
  ['35', 'replicas that come now', has('replicas')],
  ['36', 'replica_max', has('replica_max')],
  [
    '37',
    'loaded_replicas',
    rowHas(
      (t) => t.loaded_replicas === 2,
      model(alpha, phases.awake, {
        replicas: 2,
        engines: [engine(alpha, 0, phases.awake), engine(alpha, 1, phases.awake)],
      }),
    ),
  ],
  ['38', 'inflight_requests', rowHas((t) => t.inflight_requests === 3, model(alpha, phases.awake, { inFlight: 3 }))],
  ['39', 'queue_depth', rowHas((t) => t.queue_depth === 4, model(alpha, phases.awake, { waiting: 4 }))],
  ['40', 'runtime_inflight', rowHas((t) => t.runtime_inflight === 3, model(alpha, phases.awake, { inFlight: 3 }))],
  ['41', 'configured_target_inflight', rowHas((t) => t.configured_target_inflight === 32)],
  ['42', 'effective_target_inflight', rowHas((t) => t.effective_target_inflight === 4)],
  ['43', 'last_error', has('last_error')],
  ['44', 'vram_estimate_mib', has('vram_estimate_mib')],
  ['45', 'vram_estimate_replica_count', has('vram_estimate_replica_count')],
  ['46', 'vram_estimate_source', has('vram_estimate_source')],
  ['47', 'load_constraints', has('load_constraints')],
  [
    '48',
    'load_recommendations, where there are any',
    ['test/unit/api/constraints.test.ts', 'which values go well together'],
  ],
  ['49', 'load_override, empty where there is none', rowHas((t) => Object.keys(t.load_override).length === 0)],
  ['50', 'capabilities.modalities', rowHas((t) => t.capabilities.modalities.join() === 'text')],
  ['51', 'capabilities.multi_turn', rowHas((t) => !t.capabilities.multi_turn)],
  ['52', 'capabilities.thinking_modes', rowHas((t) => t.capabilities.thinking_modes.join() === 'default')],
  ['53', 'definition', rowHas((t) => t.definition['backend'] === 'stub' && 'replica_max' in t.definition)],
  [
    '54',
    'who waits is not in flight',
    rowHas((t) => t.inflight_requests === 0, model(alpha, phases.awake, { waiting: 4 })),
  ],
  [
    '55',
    'an estimate that cannot be had is null',
    rowHas((t) => t.vram_estimate_mib === null && t.vram_estimate_source === 'unavailable'),
  ],
  ['56', 'secrets are masked', ['test/unit/api/definition.test.ts', 'secrets are masked']],
  ['57', 'in the order of the config', ['test/unit/api/plane.test.ts', 'lists every model with its state, in order']],
  [
    '58',
    'definition.replicas is what the config says',
    rowHas((t) => t.replicas === 2 && t.definition['replicas'] === 1, model(alpha, phases.awake, { replicas: 2 })),
  ],
  ['59', 'one model alone', has('name')],
  [
    '60',
    'the target is what the engine can at most',
    ['test/unit/config/inflight.test.ts', 'no more than it works on by itself'],
  ],
  ['61', 'a field that is absent is not supported', [BODY, 'takes no overrides']],
  ['62', 'kinds and what belongs to each', ['test/unit/api/constraints.test.ts', 'what a load may change for']],
  [
    '63',
    'defaults are for showing',
    ['test/unit/engines/overrides.test.ts', 'without an override the extra arguments stay as they are'],
  ],
  [
    '64',
    'constraints come of the backend, whatever the state',
    rowHas((t) => Object.keys(t.load_constraints).length === 0, off),
  ],
  ['65', 'the answer beats the documents', has('load_constraints')],
  ['66', 'more is taken than is recommended', [BODY, "gguf_type_v: 'q4_0'"]],
  [
    '67',
    'a key that is there counts, also when it is null',
    ['test/unit/engines/overrides.test.ts', 'null takes back what the config says'],
  ],
  ['68', 'the fields of vLLM', kindOf('vllm_serve', 'vllm_num_speculative_tokens')],
  ['69', 'the fields of llama-server', kindOf('llama_server', 'llama_server_spec_draft_p_min')],
  ['70', 'the fields of llama_cpp and ExLlamaV3', kindOf('exllamav3', 'exllama_cache_quant')],
  [
    '71',
    'none for ct2, openai_remote and stub',
    [BODY, "['openai_remote', { gguf_n_ctx: null }, 'takes no overrides']"],
  ],
  ['72', 'gpus', ['test/unit/api/gpu-memory.test.ts', '75603MiB / 97887MiB']],
  ['73', 'their models', ['test/unit/api/gpu-memory.test.ts', 'vram_estimate_replica_count']],
  ['74', 'no nvidia-smi: no gpus, and why, 200', ['test/unit/api/gpu-memory.test.ts', 'where there is none']],
  ['75', 'estimates of unloaded models', ['test/unit/api/gpu-memory.test.ts', 'vram_estimate_mib']],
  ['76', 'read beside, with a limit, and kept for a second', ['test/unit/api/gpu-memory.test.ts', 'maxAgeMs']],
  ['77', 'load of nobody is 404', status('/v1/admin/models/nobody/load', 404)],
  ['78', 'load of a loaded or loading one is 200', status(LOAD, 200, loading, '{}')],
  ['79', 'unloaded and failed ones are loaded', [ORDERS, "'what has failed', LOAD"]],
  ['80', 'a load that fails', [ORDERS, 'says why, to the operator in full']],
  ['81', 'disabled ones may be loaded', [E2E, 'configured_enabled: false']],
  ['82', 'the body may be missing', status(LOAD, 200, off)],
  ['83', 'replicas only while unloaded or failed', status(LOAD, 400, undefined, '{"replicas":2}')],
  ['84', 'overrides of a loaded one are 400, the same ones 200', [E2E, 'llama_server_n_ctx: 2048']],
  ['85', 'load while unloading is 409', status(LOAD, 409, leaving)],
  ['86', 'replicas: all or nothing, within replica_max', [E2E, 'replicas are loaded all together']],
  ['87', 'definition.replicas stays', has('definition')],
  ['88', 'overrides last for that load', [E2E, 'for that load only']],
  ['89', '422 for what cannot be read', [BODY, 'a load body that cannot be read is 422']],
  ['90', '400 for what does not fit', [BODY, 'a load body that does not fit is 400']],
  ['91', '409 for states that clash', status(UNLOAD, 409, loading)],
  ['92', 'errors with code and details', [BODY, 'it says what is wrong with each field, and where']],
  ['93', 'the answer is a full row', async () => ModelRow.parse((await ask(LOAD, off, 'POST')).json)],
  ['94', 'a load starts the engine', [E2E, 'what a load changes reaches the real engine']],
  [
    '95',
    'overrides beat extra arguments',
    ['test/unit/engines/overrides.test.ts', 'takes the place of the same flag among the extra arguments'],
  ],
  ['96', 'what vLLM is told', ['test/unit/engines/overrides.test.ts', '--speculative-config']],
  ['97', 'who is in the way is drained', ['test/scenarios/orders-wait-their-turn.txt', 'a load waits its turn']],
  ['98', 'it queues behind a swap under way', ['test/scenarios/orders-wait-their-turn.txt', 'done 10']],
  ['99', 'unload of nobody is 404', status('/v1/admin/models/nobody/unload', 404)],
  ['100', 'unload of an unloaded one is 200', status(UNLOAD, 200, off)],
  ['101', 'unload of an unloading one is 200', status(UNLOAD, 200, leaving)],
  ['102', 'loaded, unloading, unloaded', [E2E, 'loaded_replicas: 0']],
  ['103', 'all replicas go', ['test/scenarios/load-with-replicas.txt', 'a#1 stopping -> off']],
  ['104', 'new requests are refused at once', [E2E, "codeOf(comes.text)]).toEqual([503, 'model_unloading'])"]],
  ['105', 'who is served finishes first', [E2E, 'stream.closed']],
  ['106', 'it waits, and leaving does not take it back', [E2E, 'The caller leaves at once']],
  ['107', 'the answer is a full row', async () => ModelRow.parse((await ask(UNLOAD, undefined, 'POST')).json)],
  ['108', 'who waits is told model_unloading', ['test/scenarios/unload-while-queued.txt', 'model_unloading']],
  ['109', 'streams count to their last byte', ['test/e2e/swapping.test.ts', 'stream']],
  ['110', 'gone means proven gone', ['test/scenarios/stop-that-cannot-be-proven.txt', 'stuck']],
  ['111', 'a level instead of the end', status(`${UNLOAD}?level=1`, 200)],
  ['112', 'held for good', ['test/scenarios/unload-for-good.txt', 'model_not_loaded']],
  ['113', 'operators alone', ['test/unit/api/plane.test.ts', 'the admin API']],
  ['114', 'names with slashes', [ORDERS, 'names with slashes, plain or escaped, and aliases']],
  ['115', 'other methods are 405 with Allow', [ORDERS, 'other methods are told which there are']],
  [
    '116',
    'trailing data and no object are 422, any Content-Type',
    [ORDERS, 'a body counts whatever its Content-Type says'],
  ],
  ['117', 'loads of two models wait for each other', ['test/scenarios/orders-wait-their-turn.txt', 'load 10 b']],
  ['118', 'acts of operators are facts', ['src/core/facts.ts', 'admin-acted']],
  ['119', 'metrics per state', ['docs/metrics.md', 'catnap_engine_state']],
  ['120', 'events as they happen', [E2E, 'what happens is told as it happens']],
];

describe('the admin API keeps its contract', () => {
  test('item by item, without a gap', ({ expect }) => {
    expect(ROWS.map(([item]) => Number(item))).toEqual(Array.from({ length: 120 }, (_, at) => at + 1));
  });

  test.for(ROWS)('%s. %s', async ([, , held], { expect }) => {
    if (typeof held === 'function') await held();
    else if ('notBuilt' in held)
      expect(textOf('docs/admin.md').split('# Not in this version')[1]).toContain(held.notBuilt);
    else expect(textOf(held[0])).toContain(held[1]);
  });
});
