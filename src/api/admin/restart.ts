import { Hono } from 'hono';
import type { ErrorCode } from '../../core/errors.ts';
import type { ControlDeps } from '../deps.ts';
import { refuse } from '../refusal.ts';
import { visitorOf, type Visited } from '../visitor.ts';
import { RESTART_PATH, type Restarted } from './contract.ts';

export type RestartEnd =
  | { readonly kind: 'done'; readonly handed: HandedOver }
  | {
      readonly kind: 'refused';
      readonly code: Extract<ErrorCode, 'restart_refused' | 'restarting' | 'shutting_down'>;
      readonly problems: readonly string[];
    };

/** What another catnap has now. */
export type HandedOver = {
  readonly version: string;
  readonly engines: readonly {
    readonly engine: string;
    readonly model: string;
    readonly level: string | number | null;
  }[];
  /** How many requests are served to their end by the one before. */
  readonly requests: number;
  /** For how long nobody was let in. */
  readonly gapMs: number;
};

/** Leaving everything to a fresh catnap. */
export function restart({ restart: order }: Pick<ControlDeps, 'restart'>): Hono<Visited> {
  const app = new Hono<Visited>();
  app.post(RESTART_PATH, async (c) => {
    const who = visitorOf(c).name;
    const end = await order(who === undefined ? 'the admin API' : `the key ${who}`);
    if (end.kind === 'refused') {
      return refuse(c, end.code, end.problems.join('\n'), null, { problems: end.problems });
    }
    const { version, engines, requests, gapMs } = end.handed;
    return c.json({ version, engines: [...engines], requests, gap_ms: Math.round(gapMs) } satisfies Restarted);
  });
  return app;
}
