import { test } from 'vitest';
import { actOf } from '../../../src/access/act.ts';
import { controlPlane, type Plane } from '../../../src/api/plane.ts';
import { listen } from './listener.ts';
import { alpha, deps, model, phases, stage } from './scene.ts';

const LOAD = '/v1/admin/models/alpha/load';

test.for<[path: string, body: string, model: string | undefined, terms: readonly string[]]>([
  ['/control/pin', '{"model":"gpt-4o"}', 'alpha', []],
  ['/control/sleep', '{"model":"alpha","level":1}', 'alpha', ['level=1']],
  ['/control/sleep-level', '{"model":"alpha","level":null}', 'alpha', ['level=as the config says']],
  ['/control/mode', '{"mode":"manual"}', undefined, ['mode=manual']],
  ['/v1/admin/models/alpha/unload?hold=true&level=1', '', 'alpha', ['level=1', 'hold=true']],
  ['/v1/admin/models/alpha/unload?token=hunter2&hold=hunter2-hunter2-hunter2', '', 'alpha', ['hold=?']],
  ['/v1/admin/reload?now=true', '', undefined, ['now']],
  [LOAD, '{"replicas":1}', 'alpha', ['replicas=1']],
  [LOAD, '{"gguf_n_ctx":4096}', 'alpha', ['sets gguf_n_ctx']],
])('what is asked of %s with %s is kept for the record', async ([path, body, name, terms], { expect }) => {
  const plane = controlPlane(deps(() => stage([model(alpha, phases.off)])).deps);
  const seen: Parameters<Plane>[0][] = [];
  const watched: Plane = (req, res, visitor) => {
    seen.push(req);
    return plane(req, res, visitor);
  };
  await using server = await listen(watched);
  await server.ask(path, { method: 'POST', body });
  const [req] = seen;
  if (req === undefined) throw new Error('nothing was asked');
  expect({ terms: [], ...actOf(req) }).toEqual({ model: name, terms });
});
