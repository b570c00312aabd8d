import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/config/schema.ts';
import { stateDir, writeConfig } from '../helpers/catnap.ts';
import { test as base } from '../helpers/e2e.ts';
import { Lab } from '../helpers/lab.ts';

/** Room for two of the usual size, and not for three. */
const test = base.extend('lab', async ({ folder }) => new Lab(folder, [36_000]));

test('who was validated and says nothing of its size is awake beside another; who was not takes everything', async ({
  expect,
  folder,
  lab,
  run,
  start,
}) => {
  const config: ConfigInput = {
    ...lab.root,
    stages: { main: { gpus: [0] } },
    models: {
      alpha: lab.vllm({}, { sleep_level: 1 }),
      beta: lab.vllm({}, { sleep_level: 1, model_path: 'lab/other' }),
      gamma: lab.vllm({}, { sleep_level: 1, model_path: 'lab/third' }),
    },
  };
  const file = writeConfig(folder, config);
  for (const model of ['alpha', 'beta']) {
    const words = ['--config', file, '--validate', model, '--levels', '1', '--cycles', '1', '--json'];
    expect((await run(words, { env: lab.env })).code).toBe(0);
  }
  // No load has shown anything yet: what counts is what the validations saw.
  expect(existsSync(join(stateDir(folder), 'footprints.json'))).toBe(false);

  const catnap = await start(config, { env: lab.env });
  for (const model of ['alpha', 'beta', 'gamma']) expect((await catnap.chat(model)).status).toBe(200);
  expect((await catnap.told('swap-planned')).map(({ to, from }) => [to, from])).toEqual([
    ['alpha', []],
    ['beta', []],
    ['gamma', expect.toSatisfy((from: string[]) => from.toSorted().join() === 'alpha,beta')],
  ]);
  expect(lab.ledger.events('refused')).toEqual([]);
});
