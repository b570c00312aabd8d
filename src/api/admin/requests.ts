import { Hono, type Context } from 'hono';
import type { MayUse } from '../../access/key.ts';
import type { RequestSight } from '../../ports/open-requests.ts';
import type { ControlDeps } from '../deps.ts';
import { hisOf } from '../narrow.ts';
import { refuse } from '../refusal.ts';
import { visitorOf, type Visited } from '../visitor.ts';
import {
  REQUEST_PHASES,
  REQUESTS_PATH,
  type CancelledRequests,
  type RequestList,
  type RequestRow,
} from './contract.ts';
import { unknown } from './models.ts';
import { countOf, wholeOf } from './query.ts';

const MOST = 1_000;
const USUAL = 100;

/** The requests that are open, and the end of one. Never what was said in them. */
export function openRequests(deps: ControlDeps): Hono<Visited> {
  const app = new Hono<Visited>();

  app.get(REQUESTS_PATH, (c) => {
    const limit = countOf(c.req.query('limit'), USUAL, MOST);
    if (limit === undefined) return refuse(c, 'invalid_request', `limit must be from 1 to ${MOST}.`, 'limit');
    const after = wholeOf(c.req.query('after') ?? '0');
    if (Number.isNaN(after)) {
      return refuse(c, 'invalid_request', 'after must be the `number` of a request.', 'after');
    }
    const wanted = filterOf(deps, c);
    if (wanted instanceof Response) return wanted;
    const fitting = rowsFor(deps, visitorOf(c).mayUse).filter(wanted);
    const rest = fitting.filter(({ number }) => number > after);
    const requests = rest.slice(0, limit);
    const next = rest.length > limit ? (requests.at(-1)?.number ?? null) : null;
    return c.json({ requests, total: fitting.length, next } satisfies RequestList);
  });

  app.delete(`${REQUESTS_PATH}/:id{.+}`, async (c) => {
    const id = c.req.param('id');
    const meant = rowsFor(deps, visitorOf(c).mayUse).filter((row) => row.id === id);
    const ends = await Promise.all(
      meant.map(async (row) => {
        const outcome = await deps.requests.cancel(row.number);
        return outcome === undefined ? [] : [{ ...row, outcome }];
      }),
    );
    const requests = ends.flat();
    if (requests.length > 0) return c.json({ requests } satisfies CancelledRequests);
    const message = `No request with this id is open. GET ${REQUESTS_PATH} lists those that are.`;
    return refuse(c, 'request_not_found', message, 'id');
  });

  return app;
}

/** Which of them the query asks for. */
function filterOf({ find }: ControlDeps, c: Context<Visited>): Response | ((row: RequestRow) => boolean) {
  const { model: name, phase } = c.req.query();
  const model = name === undefined ? undefined : find(name, visitorOf(c).mayUse);
  if (name !== undefined && model === undefined) return refuse(c, 'unknown_model', unknown(name), 'model');
  if (phase !== undefined && !REQUEST_PHASES.some((known) => known === phase)) {
    return refuse(c, 'invalid_request', `phase must be one of ${REQUEST_PHASES.join(', ')}.`, 'phase');
  }
  return (row) => (model === undefined || row.model === model) && (phase === undefined || row.phase === phase);
}

/** Those of models that whoever asks may use; the others are not there for him. */
function rowsFor(deps: ControlDeps, mayUse: MayUse | undefined): readonly RequestRow[] {
  const { requests, stage, clock } = deps;
  const { now, models } = stage.view();
  const entering = new Set(models.filter(({ part }) => part === 'entering').map(({ model }) => model));
  const isHis = hisOf(deps, mayUse);
  const wall = clock.wallTime().getTime();
  return requests.list().flatMap((sight) => {
    if (isHis !== undefined && (sight.model === undefined || !isHis(sight.model))) return [];
    const { leg, model, deadline } = sight;
    const phase = leg === 'waiting' && model !== undefined && entering.has(model) ? 'entering' : leg;
    return [rowOf(sight, phase, { sinceMs: now - sight.at, wall, leftMs: deadline && deadline - now })];
  });
}

type Times = { readonly sinceMs: number; readonly wall: number; readonly leftMs: number | undefined };

function rowOf(sight: RequestSight, phase: RequestRow['phase'], { sinceMs, wall, leftMs }: Times): RequestRow {
  const { id, number, model = null, key = null, client = null, method, path, priority } = sight;
  return {
    id,
    number,
    model,
    key,
    client,
    method,
    path,
    phase,
    since: new Date(wall - sinceMs).toISOString(),
    since_secs: secs(sinceMs),
    waited_secs: secs(sight.waitedMs),
    priority,
    deadline_secs: leftMs === undefined ? null : Math.round(leftMs) / 1_000,
    bytes_in: sight.bytesIn,
    bytes_out: sight.bytesOut,
    chunks_out: sight.chunksOut,
  };
}

const secs = (ms: number): number => Math.max(0, Math.round(ms)) / 1_000;
