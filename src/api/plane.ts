import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener, RequestError } from '@hono/node-server';
import { Hono } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import type { Door } from '../access/door.ts';
import { originForm } from '../access/path.ts';
import type { Visitor } from '../access/visitor.ts';
import { adminModels } from './admin/models.ts';
import { adminOrders } from './admin/orders.ts';
import { gpuMemory } from './admin/gpu-memory.ts';
import { history } from './admin/history.ts';
import { openapi } from './admin/openapi.ts';
import { reload } from './admin/reload.ts';
import { restart } from './admin/restart.ts';
import { openRequests } from './admin/requests.ts';
import { control } from './control/control.ts';
import { operatorsOnly, remember, type Visited } from './visitor.ts';
import { catalogue } from './catalogue.ts';
import type { ControlDeps } from './deps.ts';
import { probes } from './probes.ts';
import { refuse } from './refusal.ts';
import { scrape } from './scrape.ts';

/** Answers the request if its path is one of its own, and says whether it was. */
export type Plane = (req: IncomingMessage, res: ServerResponse, visitor: Visitor) => boolean;

/** A plane that anybody may ask. */
export type OpenPlane = (req: IncomingMessage, res: ServerResponse) => void;

/** Every control plane behind one function, for the listener that also has the data plane. */
export function controlPlane(deps: ControlDeps): Plane {
  const app = plainApp(deps.bug);
  app.use('/v1/admin/*', operatorsOnly);
  app.use('/control/*', operatorsOnly);
  app.route('/', probes(deps.stage));
  app.route('/', scrape(deps.metrics));
  app.route('/', catalogue(deps));
  app.route('/', adminOrders(deps));
  app.route('/', gpuMemory(deps));
  app.route('/', history(deps));
  app.route('/', openRequests(deps));
  app.route('/', reload(deps));
  app.route('/', restart(deps));
  app.route('/', openapi(deps));
  app.route('/', control(deps));
  app.route('/', adminModels(deps));
  return asPlane(app, deps.bug, isControlPath);
}

type MetricsDeps = Pick<ControlDeps, 'metrics' | 'bug'> & {
  /** The door of the config in use. */
  readonly door: () => Pick<Door, 'mayRead'>;
};

/** The port that only Prometheus reads: `/metrics` and nothing else. */
export function metricsPlane({ metrics, bug, door }: MetricsDeps): OpenPlane {
  const app = plainApp(bug);
  app.use(async (c, next) => {
    const denial = door().mayRead(c.env.incoming);
    return denial === undefined ? next() : refuse(c, denial.code, denial.message);
  });
  app.route('/', scrape(metrics));
  const answer = listenerOf(app, bug);
  return (req, res) => void answer(req, res).catch(bug);
}

/** The paths that are answered here. Everything else is the data plane's. */
function isControlPath(path: string): boolean {
  return (
    /^\/(?:health|livez|readyz|metrics|models|v1\/models|v1\/admin|control)\/?$/.test(path) ||
    path.startsWith('/v1/models/') ||
    path.startsWith('/v1/admin/') ||
    path.startsWith('/control/')
  );
}

/** `/metrics` of one engine, which that engine answers. */
const isAboutEngine = (url: string): boolean => pathOf(url) === '/metrics' && /[?&]model=/.test(url);

function plainApp(bug: ControlDeps['bug']): Hono<Visited> {
  const app = new Hono<Visited>({ strict: false });
  app.use(async (c, next) => {
    await next();
    c.header('cache-control', 'no-store');
  });
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed(c, methods) {
        const allow = methods.join(', ');
        c.header('allow', allow);
        return refuse(c, 'method_not_allowed', `${c.req.path} answers ${allow}, not ${c.req.method}.`);
      },
    }),
  );
  app.notFound((c) => refuse(c, 'not_found', `There is nothing at ${c.req.path}.`));
  app.onError((error, c) => {
    bug(error);
    return refuse(c, 'internal', 'catnap has a bug here; its log says more.');
  });
  return app;
}

function asPlane(app: Hono<Visited>, bug: ControlDeps['bug'], owns: (path: string) => boolean): Plane {
  const answer = listenerOf(app, bug);
  return (req, res, visitor) => {
    if (!owns(pathOf(req.url ?? '/')) || isAboutEngine(req.url ?? '/')) return false;
    remember(req, visitor);
    answer(req, res).catch(bug);
    return true;
  };
}

function listenerOf(app: Hono<Visited>, bug: ControlDeps['bug']) {
  return getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // For HTTP/1.0, which knows no Host.
    hostname: 'localhost',
    errorHandler(error) {
      if (error instanceof RequestError) return new Response(`${error.message}\n`, { status: 400 });
      bug(error);
      return new Response('catnap has a bug here; its log says more.\n', { status: 500 });
    },
  });
}

/** The path of a request line, read as the door has read it. */
const pathOf = (url: string): string => originForm(url).split(/[?#]/, 1)[0] ?? '';
