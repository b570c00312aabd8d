import { Hono } from 'hono';
import type { ControlDeps } from './deps.ts';

/** What Prometheus reads. */
export function scrape(metrics: ControlDeps['metrics']): Hono {
  const app = new Hono();
  app.get('/metrics', async (c) => {
    const { contentType, body } = await metrics();
    return c.body(body, 200, { 'content-type': contentType });
  });
  return app;
}
