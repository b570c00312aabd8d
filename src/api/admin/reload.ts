import { Hono } from 'hono';
import { noteAct } from '../../access/act.ts';
import type { Changes } from '../../config/reload/changes.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { ControlDeps } from '../deps.ts';
import { refuse } from '../refusal.ts';
import { visitorOf, type Visited } from '../visitor.ts';
import { readFlag } from './query.ts';
import { RELOAD_PATH, type Reloaded } from './contract.ts';

/** How somebody wants the config to be read again. */
export type ReloadWish = {
  /** Who or what, in words. */
  readonly by: string;
  /** Whether changed models that are awake start anew at once. */
  readonly now: boolean;
};

export type ReloadEnd =
  | { readonly kind: 'done'; readonly changes: Changes; readonly restarting: readonly string[] }
  | {
      readonly kind: 'refused';
      readonly code: Extract<ErrorCode, 'invalid_config' | 'needs_restart' | 'shutting_down'>;
      readonly problems: readonly string[];
    };

/** Reading the config again. */
export function reload({ reload: order }: Pick<ControlDeps, 'reload'>): Hono<Visited> {
  const app = new Hono<Visited>();
  app.post(RELOAD_PATH, async (c) => {
    const now = readFlag(c.req.query('now')) ?? false;
    if (now === 'bad') return refuse(c, 'invalid_request', 'now must be true or false.', 'now');
    if (now) noteAct(c.env.incoming, { terms: ['now'] });
    const who = visitorOf(c).name;
    const end = await order({ by: who === undefined ? 'the admin API' : `the key ${who}`, now });
    if (end.kind === 'refused') {
      return refuse(c, end.code, end.problems.join('\n'), null, { problems: end.problems });
    }
    const { added, removed, changed, settings, unchanged } = end.changes;
    const told = { added, removed, changed, settings, unchanged, restarting: end.restarting };
    return c.json(told satisfies Readonly<Record<keyof Reloaded, unknown>>);
  });
  return app;
}
