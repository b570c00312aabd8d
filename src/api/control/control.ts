import { Hono, type Context } from 'hono';
import type { z } from 'zod';
import { noteAct } from '../../access/act.ts';
import type { ModelId, SleepLevel } from '../../core/kinds.ts';
import type { LoadWish, OrderEnd } from '../../runtime/operator.ts';
import { refuseGone, unknown, viewOf } from '../admin/models.ts';
import { bodyText } from '../body.ts';
import type { ControlDeps } from '../deps.ts';
import { viewFor } from '../narrow.ts';
import { refuse } from '../refusal.ts';
import { visitorOf, type Visited } from '../visitor.ts';
import { CONTROL_PATH, LevelBody, ModeBody, ModelBody } from './contract.ts';
import { controlStatus, sleepLevels } from './status.ts';

/** llmux's control API. What it changes are events in the one queue, as requests are; there is no way around it. */
export function control(deps: ControlDeps): Hono<Visited> {
  const { stage, operator } = deps;
  const app = new Hono<Visited>();
  const at = (path: string): string => `${CONTROL_PATH}/${path}`;
  const view = (c: Context<Visited>) => viewFor(deps, visitorOf(c).mayUse);
  const status = (c: Context<Visited>): Response => c.json(controlStatus(view(c)));

  app.get(at('status'), status);
  app.get(at('sleep-levels'), (c) => c.json(sleepLevels(view(c))));

  app.post(at('mode'), async (c) => {
    const body = await read(c, ModeBody);
    if (body instanceof Response) return body;
    noteAct(c.env.incoming, { terms: [`mode=${body.mode}`] });
    return operator.setMode(body.mode) ? status(c) : handedOn(c);
  });
  app.post(at('unpin'), (c) => (operator.setMode('auto') ? status(c) : handedOn(c)));

  const bring = (as: LoadWish['as'], schema: z.ZodType<Named>) => async (c: Context<Visited>) => {
    const asked = await named(deps, c, schema);
    if (asked instanceof Response) return asked;
    const { level: setsLevel } = asked.body;
    const end = await operator.load(asked.model, { as, replicas: undefined, override: undefined, setsLevel });
    return end.kind === 'done' ? status(c) : failed(deps, c, asked.model, end);
  };
  app.post(at('pin'), bring('pin', ModelBody));
  app.post(at('switch'), bring('switch', ModelBody));
  app.post(at('wake'), bring('load', LevelBody));

  app.post(at('sleep'), async (c) => {
    const asked = await named(deps, c, LevelBody);
    if (asked instanceof Response) return asked;
    const view = viewOf(stage.view(), asked.model);
    const settings = deps.config.models[asked.model];
    if (view === undefined || settings === undefined) return refuseGone(c, asked.model);
    const { level: setsLevel } = asked.body;
    const level = setsLevel === undefined ? view.sleepLevel : (setsLevel ?? settings.sleep_level);
    const end = await operator.unload(asked.model, { level, hold: false, setsLevel });
    return end.kind === 'done' ? status(c) : failed(deps, c, asked.model, end);
  });

  app.post(at('sleep-level'), async (c) => {
    const asked = await named(deps, c, LevelBody);
    if (asked instanceof Response) return asked;
    return operator.setLevel(asked.model, asked.body.level ?? null) ? c.json(sleepLevels(view(c))) : handedOn(c);
  });

  return app;
}

const handedOn = (c: Context): Response =>
  refuse(c, 'restarting', 'Another catnap has just taken over, and nothing was set. Ask again.');

/** The body, whatever its Content-Type is, or the answer to one that cannot be used. */
async function read<T>(c: Context, schema: z.ZodType<T>): Promise<T | Response> {
  const text = await bodyText(c);
  if (text === undefined) return refuse(c, 'body_too_large', 'No body here is longer than 64 KiB.');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse(c, 'invalid_request', 'The body must be JSON.');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const flaws = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the body'} ${message}`);
  return refuse(c, 'invalid_request', `${flaws.join('; ')}.`, String(parsed.error.issues[0]?.path[0] ?? '') || null);
}

type Named = { readonly model: string; readonly level?: SleepLevel | null | undefined };

async function named<T extends Named>(
  deps: ControlDeps,
  c: Context<Visited>,
  schema: z.ZodType<T>,
): Promise<{ readonly model: ModelId; readonly body: T } | Response> {
  const body = await read(c, schema);
  if (body instanceof Response) return body;
  const model = deps.find(body.model, visitorOf(c).mayUse);
  if (model === undefined) return refuse(c, 'unknown_model', unknown(body.model), 'model');
  const { level } = body;
  noteAct(c.env.incoming, { model, terms: level === undefined ? [] : [`level=${level ?? 'as the config says'}`] });
  if (level === undefined || level === null || deps.levels(model).includes(level)) return { model, body };
  const can = deps.levels(model).join(', ');
  return refuse(c, 'invalid_request', `${model} cannot be put to level ${level}. It can be put to ${can}.`, 'level');
}

function failed(deps: ControlDeps, c: Context, model: ModelId, end: Extract<OrderEnd, { kind: 'refused' }>): Response {
  if (end.code === 'model_not_found') return refuseGone(c, model);
  if (end.code !== 'engine_failed') return refuse(c, end.code, `${end.message}.`, 'model');
  const reason = deps.lastFailure(model)?.failure.reason ?? end.message;
  return refuse(c, 'load_failed', `${model} could not be woken: ${reason}`, 'model');
}
