import { Hono, type Context } from 'hono';
import { noteAct } from '../../access/act.ts';
import { after, type ModelId, type SleepLevel } from '../../core/kinds.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LoadOverride } from '../../ports/load-override.ts';
import type { OrderEnd } from '../../runtime/operator.ts';
import { bodyText } from '../body.ts';
import type { ControlDeps } from '../deps.ts';
import type { ModelView } from '../../runtime/view.ts';
import { viewFor } from '../narrow.ts';
import { refuse } from '../refusal.ts';
import { visitorOf, type Visited } from '../visitor.ts';
import { unfit } from './constraints/judge.ts';
import { readLoadBody, type LoadBody } from './constraints/schema.ts';
import { MODELS_PATH, type ModelRow } from './contract.ts';
import { currentRow, refuseGone, tellRow, unknown, viewOf } from './models.ts';
import { readFlag, readLevel, readTimeout, type Limit } from './query.ts';
import { runtimeState } from './state.ts';

type Told = Response | Promise<Response>;

/** Loading and unloading. An order goes on when the one who gave it leaves. */
export function adminOrders(deps: ControlDeps): Hono<Visited> {
  const app = new Hono<Visited>();

  const named = (order: (c: Context<Visited>, model: ModelId) => Told) => (c: Context<Visited>) => {
    const name = c.req.param('name') ?? '';
    const model = deps.find(name, visitorOf(c).mayUse);
    if (model === undefined) return refuse(c, 'unknown_model', unknown(name), 'model');
    noteAct(c.env.incoming, { model, terms: termsOf(c.req.query()) });
    const bad = FLAGS.find((flag) => readFlag(c.req.query(flag)) === 'bad');
    if (bad !== undefined) return refuse(c, 'invalid_request', `${bad} must be true or false.`, bad);
    if (readTimeout(c.req.query('timeout_s')) !== 'bad') return order(c, model);
    return refuse(c, 'invalid_request', 'timeout_s must be a number of seconds above 0.', 'timeout_s');
  };

  app.post(
    `${MODELS_PATH}/:name{.+}/load`,
    named(async (c, model) => {
      const text = await bodyText(c);
      if (text === undefined) return refuse(c, 'body_too_large', 'No load has a body of more than 64 KiB.');
      const read = readLoadBody(text);
      if (read.kind === 'read') {
        noteAct(c.env.incoming, { terms: changesIn(read.body) });
        return load(deps, c, model, read.body);
      }
      const { details } = read;
      const message = details.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
      return refuse(c, 'unfit_body', message, paramOf(details[0]?.loc), { details });
    }),
  );

  app.post(
    `${MODELS_PATH}/:name{.+}/unload`,
    named((c, model) => unload(deps, c, model)),
  );

  return app;
}

/** What there is to ask for in a query. Anything else may be anything. */
const FLAGS = ['wait', 'evict', 'hold', 'cancel'];
const TERMS = ['wait', 'timeout_s', 'evict', 'level', 'hold', 'cancel'];

const termsOf = (query: Readonly<Record<string, string>>): readonly string[] =>
  TERMS.flatMap((name) => {
    const value = query[name];
    if (value === undefined) return [];
    return `${name}=${/^[\w.]{1,16}$/.test(value) ? value : '?'}`;
  });

const changesIn = ({ replicas, override }: LoadBody): readonly string[] => [
  ...(replicas === undefined ? [] : [`replicas=${replicas}`]),
  ...Object.keys(override).map((key) => `sets ${key}`),
];

const paramOf = (loc: readonly (string | number)[] | undefined): string | null =>
  loc?.[1] === undefined ? null : String(loc[1]);

function load(deps: ControlDeps, c: Context<Visited>, model: ModelId, { replicas, override }: LoadBody): Told {
  const { config, stage, operator } = deps;
  const settings = config.models[model];
  const view = viewOf(stage.view(), model);
  // The body may have come for so long that the config has it no more.
  if (view === undefined) return refuseGone(c, model);
  const flaws = [...unfit(settings?.backend ?? '', override)];
  const most = settings?.replica_max ?? 1;
  if (replicas !== undefined && replicas > most) flaws.push(`replicas must be at most ${most}, not ${replicas}`);
  if (flaws.length > 0) return refuse(c, 'invalid_load_request', `${flaws.join('; ')}.`);
  const state = runtimeState(view);
  if (state === 'unloading') {
    return refuse(c, 'invalid_state', `${model} is being unloaded. Load it when it is unloaded.`, 'model');
  }
  if (state === 'loaded' || state === 'loading') {
    const asksMore = Object.entries(override).some(
      ([key, value]) => !(key in view.override) || view.override[key] !== value,
    );
    if (asksMore || (replicas !== undefined && replicas !== view.replicas)) {
      const message = `${model} is ${state}, and what it is loaded with can only be changed while it is not: unload it first.`;
      return refuse(c, 'invalid_load_request', message);
    }
    return tellRow(deps, c, model);
  }
  // One that has failed and is tried again comes with as many as it was called with.
  const isComing = view.part === 'summoned' || view.part === 'entering';
  if (isComing && replicas !== undefined && replicas !== view.replicas) {
    const message = `${model} is being started again with ${view.replicas} replicas: unload it first.`;
    return refuse(c, 'invalid_load_request', message, 'replicas');
  }
  const evicts = readFlag(c.req.query('evict')) !== false;
  const order = operator.load(model, { as: 'load', replicas, override, evicts });
  return whenDone(deps, c, model, order, (end) => loadRefused(deps, c, model, end, override));
}

/** What the one who loads is told of a load that came to nothing. */
function loadRefused(
  deps: ControlDeps,
  c: Context<Visited>,
  model: ModelId,
  end: Refusal,
  override: LoadOverride,
): Response {
  const changed = Object.keys(override).length === 0 ? '' : ` with ${Object.keys(override).join(', ')}`;
  if (end.code === 'model_not_found') return refuseGone(c, model);
  if (end.code === 'model_not_loaded') {
    const { models } = viewFor(deps, visitorOf(c).mayUse);
    const stage = models.find((own) => own.model === model)?.stage;
    const holders = models.filter((other) => other.model !== model && other.stage === stage && holdsRoom(other));
    const who = holders.length === 0 ? 'others' : holders.map((other) => other.model).join(', ');
    return refuse(
      c,
      'gpu_busy',
      `There is no room for ${model} besides ${who}, and nobody is put away for this load.`,
      'model',
    );
  }
  if (end.code !== 'engine_failed') {
    return refuse(c, end.code === 'model_unloading' ? 'invalid_state' : end.code, `${end.message}.`, 'model');
  }
  const failure = deps.lastFailure(model)?.failure;
  const code = failure?.trouble === 'too_late' ? 'load_timeout' : 'load_failed';
  const message = `${model} could not be loaded${changed}: ${failure?.reason ?? end.message}`;
  return refuse(c, code, message, 'model', asItIs(deps, model));
}

const holdsRoom = ({ part, room, kept }: ModelView): boolean => part !== 'out' && room > 0 && !kept;

function asItIs(deps: ControlDeps, model: ModelId): { readonly model?: ModelRow } {
  const row = currentRow(deps, model);
  return row === undefined ? {} : { model: row };
}

type Refusal = Extract<OrderEnd, { readonly kind: 'refused' }>;

function unload(deps: ControlDeps, c: Context, model: ModelId): Told {
  const level = readLevel(c.req.query('level'));
  if (level === 'bad' || (level !== undefined && !deps.levels(model).includes(level))) {
    const can = deps.levels(model).join(', ');
    return refuse(c, 'invalid_load_request', `level must be one that ${model} can be put to: ${can}.`, 'level');
  }
  const hold = readFlag(c.req.query('hold')) === true;
  const view = viewOf(deps.stage.view(), model);
  if (view === undefined) return refuseGone(c, model);
  const state = runtimeState(view);
  const gone = view.engines.every(({ phase }) => phase.kind === 'off');
  // One that leaves for others may go less deep than is asked here, and come back.
  const isAsked = view.unloadWaits && level === undefined && (view.held || !hold);
  if ((state === 'unloading' && isAsked) || (state === 'unloaded' && gone && !hold)) return tellRow(deps, c, model);
  if (state === 'loading' && readFlag(c.req.query('cancel')) !== true) {
    const message = `${model} is being loaded. Unload it when it is loaded, or with ?cancel=true.`;
    return refuse(c, 'invalid_state', message, 'model');
  }
  const wish: { level: SleepLevel; hold: boolean } = { level: level ?? 5, hold };
  return whenDone(deps, c, model, deps.operator.unload(model, wish), (end) =>
    refuse(c, end.code, `${end.message}.`, 'model'),
  );
}

/** Answers when the order has ended, or at once, or after `timeout_s`; the order goes on whatever becomes of the answer. */
async function whenDone(
  deps: ControlDeps,
  c: Context,
  model: ModelId,
  order: Promise<OrderEnd>,
  refused: (end: Refusal) => Response,
): Promise<Response> {
  order.catch(deps.bug);
  if (readFlag(c.req.query('wait')) === false) return tellRow(deps, c, model, 202);
  const end = await orLate(order, deps.clock, readTimeout(c.req.query('timeout_s')));
  if (end === 'late') {
    const message = `${model} is not there yet; what was asked goes on.`;
    return refuse(c, 'load_timeout', message, 'model', asItIs(deps, model));
  }
  return end.kind === 'done' ? tellRow(deps, c, model) : refused(end);
}

function orLate(order: Promise<OrderEnd>, clock: Clock, limitMs: Limit): Promise<OrderEnd | 'late'> {
  if (typeof limitMs !== 'number') return order;
  return new Promise((resolve, reject) => {
    const cancel = clock.at(after(clock.now(), limitMs), () => resolve('late'));
    order.then(resolve, reject).finally(cancel);
  });
}
