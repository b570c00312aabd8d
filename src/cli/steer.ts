import type { z } from 'zod';
import { CancelledRequests, MODELS_PATH, ModelRow, REQUESTS_PATH } from '../api/admin/contract.ts';
import { CONTROL_PATH, ControlStatus } from '../api/control/contract.ts';
import { findAddress } from './address.ts';
import { tellAdmin } from './admin-client.ts';
import { EXIT } from '../app/exit.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage.ts';
import { plain } from './words.ts';

export type Where = { readonly config: readonly string[]; readonly url: string | undefined; readonly json: boolean };

export type LoadOptions = Where & {
  readonly model: string;
  readonly set: readonly string[];
  readonly replicas: number | undefined;
  readonly evictsNobody: boolean;
  readonly wait: boolean;
};

export type UnloadOptions = Where & {
  readonly model: string;
  readonly hold: boolean;
  readonly level: string | undefined;
  readonly wait: boolean;
};

/** Loads a model, and waits until it is loaded. */
export function load(options: LoadOptions, terminal: Terminal): Promise<number> {
  const { model, set, replicas, evictsNobody, wait, ...where } = options;
  const body = { ...Object.fromEntries(set.map(assignment)), ...(replicas !== undefined && { replicas }) };
  const query = { ...(evictsNobody && { evict: 'false' }), ...(!wait && { wait: 'false' }) };
  return order(where, `${pathOf(model)}/load${asked(query)}`, body, ModelRow, sayRow, terminal);
}

export function unload({ model, hold, level, wait, ...where }: UnloadOptions, terminal: Terminal): Promise<number> {
  const query = {
    ...(hold && { hold: 'true' }),
    ...(level !== undefined && { level }),
    ...(!wait && { wait: 'false' }),
  };
  return order(where, `${pathOf(model)}/unload${asked(query)}`, undefined, ModelRow, sayRow, terminal);
}

function asked(query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? '' : `?${text}`;
}

type ControlOptions = Where & {
  readonly act: 'sleep' | 'wake' | 'pin' | 'unpin';
  readonly model: string | undefined;
  readonly level?: string | undefined;
};

/** Says what a running catnap is to do, and waits until it is done. */
export function control({ act, model, level, ...where }: ControlOptions, terminal: Terminal): Promise<number> {
  const body =
    model === undefined
      ? {}
      : { model, ...(level !== undefined && { level: level === 'config' ? null : levelOf(level) }) };
  return order(where, `${CONTROL_PATH}/${act}`, body, ControlStatus, sayStatus, terminal);
}

/** Ends the requests with an id. */
export function cancel({ id, ...where }: Where & { readonly id: string }, terminal: Terminal): Promise<number> {
  const path = `${REQUESTS_PATH}/${encodeURIComponent(id)}`;
  return order(where, path, undefined, CancelledRequests, sayCancelled, terminal, 'DELETE');
}

/** Gives an order to a running catnap, and says what came of it. */
export async function order<T>(
  where: Where,
  path: string,
  body: object | undefined,
  schema: z.ZodType<T>,
  say: (answer: T) => string,
  terminal: Terminal,
  method: 'POST' | 'DELETE' = 'POST',
): Promise<number> {
  const fail = (code: number, why: string): number => {
    if (where.json) terminal.out(`${JSON.stringify({ error: why.trimEnd() }, undefined, 2)}\n`);
    else terminal.err(why);
    return code;
  };
  const found = findAddress(where, terminal);
  if (found.kind === 'unknown') return fail(EXIT.usage, found.why);
  const asked = await tellAdmin(found, path, body, schema, method);
  if (asked.kind === 'failed') return fail(EXIT.failed, `catnap: ${plain(asked.why)}\n`);
  terminal.out(where.json ? `${JSON.stringify(asked.raw, undefined, 2)}\n` : say(asked.value));
  return EXIT.ok;
}

const pathOf = (model: string): string => `${MODELS_PATH}/${encodeURIComponent(model)}`;

function sayRow({ name, runtime_state, hold }: ModelRow): string {
  return `${name} is ${runtime_state}${hold ? ', and no request brings it back' : ''}.\n`;
}

function sayCancelled({ requests }: CancelledRequests): string {
  return requests
    .map(({ id, model, phase, outcome }) => {
      const whose = model === null ? '' : ` of ${model}`;
      return outcome === 'cancelled'
        ? `${id}${whose} was ${phase} and has been ended.\n`
        : `${id}${whose} was ${phase} and had ended by itself: ${outcome}.\n`;
    })
    .join('');
}

function sayStatus({ state, mode, models }: ControlStatus): string {
  const [kind = '', who = ''] = state.split(/:(.*)/s);
  const awake =
    kind === 'active' ? `${who} is awake` : kind === 'switching' ? `Switching: ${who}` : 'No model is awake';
  const pinned = mode.pinned === undefined ? '' : `, and ${mode.pinned} is pinned`;
  const levels = Object.entries(models).flatMap(([name, { level_override: level }]) =>
    level === null ? [] : [`${name} ${level}`],
  );
  const set = levels.length === 0 ? '' : `Levels that operators have set: ${levels.join(', ')}.\n`;
  return `${awake}; swaps are ${mode.mode === 'auto' ? 'automatic' : `in manual mode${pinned}`}.\n${set}`;
}

/** `llama_server_n_ctx=4096`: what is no JSON is a text. */
function assignment(text: string): [string, unknown] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`--set takes KEY=VALUE, not "${text}".`);
  const value = text.slice(at + 1);
  try {
    return [text.slice(0, at), JSON.parse(value)];
  } catch {
    return [text.slice(0, at), value];
  }
}

function levelOf(text: string): number | 'hybrid' {
  if (text === 'hybrid') return text;
  if (/^[1-5]$/.test(text)) return Number(text);
  throw new UsageError(`--level must be 1, 2, 3, 4, 5, hybrid or config, not "${text}".`);
}
