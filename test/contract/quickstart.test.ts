import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { fetchLlamaServer } from '../../src/quickstart/llama/fetch.ts';
import { prepareQuickstart } from '../../src/quickstart/quickstart.ts';
import { isCi, requireLlama, startLlama } from '../helpers/llama.ts';
import { testFolder } from '../helpers/survivors.ts';

test('alpha and beta of a first run answer with their own names on the real llama-server', async (context) => {
  const { expect, onTestFinished } = context;
  const command = await requireLlama(context);
  const { path, remove } = testFolder();
  onTestFinished(remove);
  const quickstart = await prepareQuickstart({ command, cacheDir: path, env: process.env, progress: () => {} });
  if (quickstart.kind !== 'llama') throw new Error(quickstart.why);

  const answers = [];
  for (const model of Object.values(quickstart.models)) {
    await using llama = await startLlama({ server: quickstart.server.path, model });
    const answer = await fetch(`${llama.origin}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }] }),
    });
    answers.push(JSON.parse(await answer.text()).choices[0].message.content);
  }
  expect(answers).toEqual(['Hello from alpha, the first model.', 'Greetings from beta, the second model.']);
});

test('two fetches into one empty cache both end with a llama-server that runs', async ({
  expect,
  skip,
  onTestFinished,
}) => {
  const { path: cacheDir, remove } = testFolder();
  onTestFinished(remove);
  const fetchOnce = () => fetchLlamaServer({ cacheDir, env: process.env, progress: () => {} });
  const [one, two] = await Promise.all([fetchOnce(), fetchOnce()]);
  if (one.kind === 'missing' && !isCi()) skip(one.why);
  const server = { path: join(cacheDir, 'llama-server', 'forky', 'llama-server'), version: expect.any(String) };
  expect([one, two]).toEqual([
    { kind: 'found', server },
    { kind: 'found', server },
  ]);
  expect(readdirSync(join(cacheDir, 'llama-server'))).toEqual(['forky']);
});
