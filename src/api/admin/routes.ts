import type { z } from 'zod';
import type { ErrorCode } from '../../core/errors.ts';
import { ControlStatus, LevelBody, ModeBody, ModelBody, SleepLevels } from '../control/contract.ts';
import { LoadRequest } from './constraints/schema.ts';
import {
  ADMIN,
  CancelledRequests,
  ErrorAnswer,
  GpuMemory,
  MODELS_PATH,
  ModelList,
  ModelRow,
  RELOAD_PATH,
  RESTART_PATH,
  REQUESTS_PATH,
  Reloaded,
  Restarted,
  RequestList,
  SwapList,
} from './contract.ts';

/** The schemas by their names in the description of the API. */
export const SCHEMAS = {
  ModelList,
  ModelRow,
  GpuMemory,
  SwapList,
  RequestList,
  CancelledRequests,
  LoadRequest,
  Reloaded,
  Restarted,
  Error: ErrorAnswer,
  ControlStatus,
  SleepLevels,
  ModeBody,
  ModelBody,
  LevelBody,
} as const satisfies Record<string, z.ZodType>;

export type SchemaName = keyof typeof SCHEMAS;

type Query = {
  readonly name: string;
  readonly type: 'boolean' | 'integer' | 'number' | 'string';
  readonly description: string;
};

export type Route = {
  readonly method: 'get' | 'post' | 'delete';
  /** `{name}` and `{id}` may hold slashes. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: readonly Query[];
  readonly body?: SchemaName;
  readonly answer: SchemaName | 'text/plain' | 'text/event-stream' | 'application/json';
  /** Whether `?wait=false` answers 202 with the same. */
  readonly accepts?: true;
  readonly errors?: readonly ErrorCode[];
};

const WAITING: readonly Query[] = [
  { name: 'wait', type: 'boolean', description: '`false`: answered 202 at once; the order goes on.' },
  { name: 'timeout_s', type: 'number', description: 'How many seconds to wait at most; the order goes on.' },
];

const STEERS = [
  'invalid_request',
  'unknown_model',
  'load_failed',
  'lane_full',
  'model_unloading',
  'shutting_down',
  'restarting',
] as const;

const SETS_LEVEL =
  'A level is also how deep it is put away from now on, until another one is given here or to `/control/sleep-level`; null takes that back. An order that is refused sets nothing.';

/** Every path of the admin API and the control API, as it is described to programs. Tests ask each of them. */
export const ROUTES: readonly Route[] = [
  { method: 'get', path: MODELS_PATH, summary: 'All models, in the order of the config.', answer: 'ModelList' },
  {
    method: 'get',
    path: `${MODELS_PATH}/{name}`,
    summary: 'One model.',
    answer: 'ModelRow',
    errors: ['unknown_model'],
  },
  {
    method: 'post',
    path: `${MODELS_PATH}/{name}/load`,
    summary: 'Loads a model that the config knows, and answers when it is loaded.',
    description:
      'Whoever is in the way is drained and put away. The body, which may be missing, changes this one load: how many replicas it comes with, and what `load_constraints` of the model lists. It can be given while the model is `unloaded` or `failed`, and holds until it is unloaded or loaded in another way. Leaving does not take the load back.',
    query: [
      ...WAITING,
      {
        name: 'evict',
        type: 'boolean',
        description: '`false`: refused with `gpu_busy` where another model would have to go.',
      },
    ],
    body: 'LoadRequest',
    answer: 'ModelRow',
    accepts: true,
    errors: [
      'invalid_request',
      'unknown_model',
      'unfit_body',
      'invalid_load_request',
      'invalid_state',
      'gpu_busy',
      'load_failed',
      'load_timeout',
      'shutting_down',
      'restarting',
    ],
  },
  {
    method: 'post',
    path: `${MODELS_PATH}/{name}/unload`,
    summary: 'Unloads a model, and answers when its processes are proven gone.',
    description:
      'Those who wait for it are refused at once with `model_unloading`, as are those who come until it is done; requests that are being served finish. Leaving does not take it back.',
    query: [
      ...WAITING,
      { name: 'level', type: 'string', description: 'The sleep level to put it to instead of ending it.' },
      { name: 'hold', type: 'boolean', description: 'Whether no request may bring it back until it is loaded.' },
      { name: 'cancel', type: 'boolean', description: 'Whether a load that is under way is given up for it.' },
    ],
    answer: 'ModelRow',
    accepts: true,
    errors: [
      'invalid_request',
      'unknown_model',
      'invalid_load_request',
      'invalid_state',
      'load_timeout',
      'shutting_down',
      'restarting',
    ],
  },
  {
    method: 'get',
    path: `${ADMIN}/gpu-memory`,
    summary: 'What the GPUs hold, and about how much of it each model takes.',
    answer: 'GpuMemory',
  },
  {
    method: 'get',
    path: REQUESTS_PATH,
    summary: 'The requests that are open, in the order in which they came.',
    description:
      'From the head of a request to its last byte, WebSockets included. Nothing that was said in it is shown. Long lists come in pages: `next` of one is `after` of the following one.',
    query: [
      { name: 'limit', type: 'integer', description: 'How many at most, 100 by default.' },
      { name: 'after', type: 'integer', description: 'Only those with a higher `number`.' },
      { name: 'model', type: 'string', description: 'Only those of this model.' },
      { name: 'phase', type: 'string', description: 'Only those in this phase.' },
    ],
    answer: 'RequestList',
    errors: ['invalid_request', 'unknown_model'],
  },
  {
    method: 'delete',
    path: `${REQUESTS_PATH}/{id}`,
    summary: 'Ends every open request with this id.',
    description:
      'One that is not answered yet is answered `request_cancelled`; one that is gets an error event, if it is a stream of events, and its connection is aborted. Its place at the engine is free at once. Answered when the requests have ended, with how: one that ended by itself in the same moment says so.',
    answer: 'CancelledRequests',
    errors: ['request_not_found'],
  },
  {
    method: 'get',
    path: `${ADMIN}/swaps`,
    summary: 'The last swaps, the newest first.',
    query: [{ name: 'limit', type: 'integer', description: 'How many at most, 50 by default.' }],
    answer: 'SwapList',
    errors: ['invalid_request'],
  },
  {
    method: 'get',
    path: `${ADMIN}/events`,
    summary: 'What happens, as it happens.',
    description:
      'Server-sent events, one per fact, with the kind of the fact as the event; the id is `RUN.NUMBER`, of this run of catnap. With `Last-Event-ID` those after it come first, as far as they are kept (`journal_entries`); an event `missed` says how many are not, or null where the id is of another run.',
    query: [{ name: 'after', type: 'string', description: 'The same as Last-Event-ID; 0 for all that are kept.' }],
    answer: 'text/event-stream',
    errors: ['invalid_request'],
  },
  {
    method: 'get',
    path: `${ADMIN}/logs/{name}`,
    summary: 'The last lines the engine of a model has printed.',
    query: [
      { name: 'lines', type: 'integer', description: 'How many, 200 by default.' },
      { name: 'follow', type: 'boolean', description: '`true`: the answer goes on with what it prints.' },
    ],
    answer: 'text/plain',
    errors: ['unknown_model', 'invalid_request'],
  },
  {
    method: 'post',
    path: RELOAD_PATH,
    summary: 'Reads the config again.',
    description:
      'All of it is checked first: when anything is wrong, or cannot change while catnap runs, everything stays as it was. Models that stay the same are not touched.',
    query: [
      {
        name: 'now',
        type: 'boolean',
        description: '`true`: changed models that are awake start anew now, not with their next request.',
      },
    ],
    answer: 'Reloaded',
    errors: ['invalid_request', 'invalid_config', 'needs_restart', 'shutting_down'],
  },
  {
    method: 'post',
    path: RESTART_PATH,
    summary: 'Leaves everything to a fresh catnap, and answers when that serves.',
    description:
      'Engines go on as they are, awake or asleep, and open requests are served to their end by this one. Whoever waits is told to come again. The fresh one reads the config first: where anything is wrong with it, or when models do not come to rest in time, everything stays as it was.',
    answer: 'Restarted',
    errors: ['restart_refused', 'restarting', 'shutting_down'],
  },
  { method: 'get', path: `${ADMIN}/openapi.json`, summary: 'This description.', answer: 'application/json' },
  { method: 'get', path: '/control/status', summary: 'Who is awake, and who waits.', answer: 'ControlStatus' },
  {
    method: 'post',
    path: '/control/mode',
    summary: 'Whether requests may swap (`auto`), or operators alone (`manual`).',
    body: 'ModeBody',
    answer: 'ControlStatus',
    errors: ['invalid_request', 'restarting'],
  },
  {
    method: 'post',
    path: '/control/pin',
    summary: 'Swaps go into manual mode, and to this model. Taken back when it does not come.',
    body: 'ModelBody',
    answer: 'ControlStatus',
    errors: STEERS,
  },
  {
    method: 'post',
    path: '/control/unpin',
    summary: 'Swaps are automatic again.',
    answer: 'ControlStatus',
    errors: ['restarting'],
  },
  {
    method: 'post',
    path: '/control/switch',
    summary: 'Swaps to this model; in manual mode it is pinned.',
    body: 'ModelBody',
    answer: 'ControlStatus',
    errors: STEERS,
  },
  {
    method: 'post',
    path: '/control/wake',
    summary: 'Wakes a model when its turn comes.',
    description: `From whatever level it is at. ${SETS_LEVEL}`,
    body: 'LevelBody',
    answer: 'ControlStatus',
    errors: STEERS,
  },
  {
    method: 'post',
    path: '/control/sleep',
    summary: 'Puts a model away, to the level given or its own, once its requests are served.',
    description: SETS_LEVEL,
    body: 'LevelBody',
    answer: 'ControlStatus',
    errors: STEERS,
  },
  {
    method: 'get',
    path: '/control/sleep-levels',
    summary: 'How deep each model is put away for others.',
    answer: 'SleepLevels',
  },
  {
    method: 'post',
    path: '/control/sleep-level',
    summary: 'How deep a model is put away for others from now on; without a level as the config says.',
    body: 'LevelBody',
    answer: 'SleepLevels',
    errors: ['invalid_request', 'unknown_model', 'restarting'],
  },
];
