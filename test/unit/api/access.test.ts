import { test } from 'vitest';
import { controlPlane } from '../../../src/api/plane.ts';
import { ACCESS } from '../../../src/config/access.ts';
import { listen } from './listener.ts';
import { alpha, deps, model, phases, stage } from './scene.ts';

test('the control planes answer what the access table says they do, and nothing else', async ({ expect }) => {
  await using server = await listen(controlPlane(deps(() => stage([model(alpha, phases.off)])).deps));
  const leftToTheDataPlane = 418;
  for (const { path, use } of ACCESS) {
    const { status } = await server.ask(path.replace('{id}', 'alpha').replace(/\*$/, 'anything'));
    expect(status !== leftToTheDataPlane, path).toBe(use === 'answered');
  }
});
