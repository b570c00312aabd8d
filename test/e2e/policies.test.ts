import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chatBody, JSON_BODY, stateDir, writeConfig, type Catnap } from '../helpers/catnap.ts';
import { test } from '../helpers/e2e.ts';

/** Each on the built product: what a user would see of the policy, beside what `fifo` does (swapping.test.ts). */
const POLICIES = [
  // It goes on as long as all can still be served in time.
  { policy_type: 'slack', serving_share: 0 },
  { policy_type: 'time_slice', min_quantum_ms: 0, tick_interval_ms: 50 },
  // A swap that is seen to cost more than a turn so far is not worth it yet.
  { policy_type: 'cost_aware', coalesce_window_ms: 600_000, amortization_factor: 1_000 },
] as const;

for (const policy of POLICIES)
  test(`under ${policy.policy_type} a busy model goes on, and goes when another has waited for long enough`, async ({
    expect,
    start,
    llama,
    folder,
  }) => {
    const models = { alpha: await llama.counts(60), beta: await llama.says('I am beta.') };
    const catnap = await start({ models, policy: { ...policy, max_wait_secs: 600 } });
    await catnap.chat('alpha');
    const { pid } = await catnap.engine('alpha');
    process.kill(pid, 'SIGSTOP');
    const first = catnap.chat('alpha');
    await catnap.fact('request-granted', { model: 'alpha' }, 2);
    const beta = catnap.chat('beta');
    await catnap.fact('request-arrived', { model: 'beta' });
    // It came later than the one for beta, and has its turn all the same.
    const second = catnap.chat('alpha');
    await catnap.fact('request-granted', { model: 'alpha' }, 3);
    expect(await catnap.told('swap-planned', { to: 'beta' })).toEqual([]);
    // Alpha never has nothing to do, and beta's turn comes: it has waited for longer now than anybody is to wait.
    writeConfig(folder, { models, policy: { ...policy, max_wait_secs: 0.5 } });
    expect((await catnap.ask('/v1/admin/reload')).status).toBe(200);
    await catnap.fact('swap-planned', { to: 'beta' });
    expect(await catnap.told('request-ended', { model: 'alpha' })).toHaveLength(1);
    process.kill(pid, 'SIGCONT');
    const replies = await Promise.all([first, second, beta]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

test('a max_wait_secs that the swaps seen so far do not leave room for is told at the next start', async ({
  expect,
  start,
  llama,
}) => {
  const config = {
    models: { alpha: await llama.says('I am alpha.'), beta: await llama.says('I am beta.') },
    policy: { policy_type: 'slack', max_wait_secs: 0.001 },
  } as const;
  const told = ({ lines }: Catnap): readonly string[] =>
    lines.map(({ msg }) => msg).filter((msg) => msg.includes('policy.max_wait_secs'));
  const catnap = await start(config);
  for (const model of ['alpha', 'beta', 'alpha']) await catnap.chat(model);
  await catnap.stop();
  expect(told(catnap)).toEqual([]);
  expect(told(await start(config))).toEqual([
    expect.stringMatching(/ one round of swaps through the 2 models .* Set it to more than \d/),
  ]);
});

test('a deadline that the swap cannot meet is refused at once, and nobody is put away for it', async ({
  expect,
  start,
  llama,
  folder,
}) => {
  // As an earlier catnap has learned it.
  const minute = { ms: 60_000, spreadMs: 1_000, samples: 9 };
  await mkdir(stateDir(folder), { recursive: true });
  await writeFile(
    join(stateDir(folder), 'costs.json'),
    JSON.stringify({ version: 1, models: { beta: { 'come:5': minute } } }),
  );
  const catnap = await start({
    models: { alpha: await llama.says('I am alpha.'), beta: await llama.says('I am beta.') },
  });
  await catnap.chat('alpha');
  const hurried = { body: chatBody('beta', {}), headers: { ...JSON_BODY, 'x-catnap-deadline-secs': '20' } };
  const late = await catnap.ask('/v1/chat/completions', hurried);
  expect([late.status, JSON.parse(late.text).error.code]).toEqual([503, 'wait_timeout']);
  expect(JSON.parse(late.text).error.message).toContain('beta takes about 60 s to be ready, and hardly less than 5');
  expect(Number(late.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect(await catnap.told('swap-planned', { to: 'beta' })).toEqual([]);
  expect(await catnap.model('alpha')).toMatchObject({ runtime_state: 'loaded' });
  expect((await catnap.chat('beta')).status).toBe(200);
});
