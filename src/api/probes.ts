import { Hono } from 'hono';
import type { StageReader } from '../runtime/view.ts';

/** For those who watch whether catnap runs and whether to send it requests. Swaps change neither. */
export function probes(stage: StageReader): Hono {
  const app = new Hono();
  app.on('GET', ['/health', '/livez'], (c) => c.json({ status: 'ok' }));
  app.get('/readyz', (c) =>
    stage.view().accepting ? c.json({ status: 'ready' }) : c.json({ status: 'shutting down' }, 503),
  );
  return app;
}
