import { describe, test } from 'vitest';
import { ask } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream } from '../../helpers/upstream.ts';
import { APP, bearer, BOSS, keysOf, TOKENS } from '../access/scene.ts';

type Asked = { readonly path: string; readonly token?: string; readonly body?: string };

/** What it comes to, and what the engine heard. */
async function steer(onTestFinished: (clean: () => Promise<void>) => void, awake = true) {
  const heard: string[] = [];
  const upstream = await httpUpstream((req, res) => {
    heard.push(`${req.method} ${req.url}`);
    res.end('{}');
  });
  const rig = await openRig({ upstream, door: { keys: keysOf(APP, BOSS) }, onTestFinished });
  rig.admission.awake = awake;
  const code = async ({ path, token = TOKENS.boss, body = '{}' }: Asked): Promise<string> => {
    const { status, headers } = await ask(rig.port, path, { body, headers: bearer(token) });
    return `${status} ${String(headers['x-catnap-error'] ?? '')}`.trim();
  };
  return { heard, rig, code };
}

describe('what controls an engine', () => {
  test('is passed on to one that is awake for an operator, by its path alone, and told', async ({
    expect,
    onTestFinished,
  }) => {
    const { heard, rig, code } = await steer(onTestFinished);
    for (const path of ['/reset_prefix_cache', '/slots/0?action=save', '/pause', '/v1/load_lora_adapter']) {
      expect(await code({ path: `/upstream/alpha${path}` }), path).toBe('200');
      expect(await code({ path: `/upstream/alpha${path}`, token: TOKENS.app }), path).toBe('403 forbidden');
      expect(await code({ path: `${path}${path.includes('?') ? '&' : '?'}model=alpha` }), path).toBe('403 forbidden');
    }
    expect(heard).toHaveLength(4);
    const acts = rig.facts.filter(({ kind }) => kind === 'admin-acted');
    expect(acts[0]).toMatchObject({ key: 'boss', action: 'POST /upstream/alpha/reset_prefix_cache', status: 200 });
    expect(acts).toHaveLength(4);
    expect(rig.admission.asked).toEqual([]);
  });

  test('wakes nothing', async ({ expect, onTestFinished }) => {
    const { heard, code } = await steer(onTestFinished, false);
    expect(await code({ path: '/upstream/alpha/reset_prefix_cache' })).toBe('409 model_not_loaded');
    expect(heard).toEqual([]);
  });

  test.for([
    '/sleep?level=1',
    '/wake_up',
    '/v1/sleep',
    '/release_memory_occupation',
    '/resume_memory_occupation',
    '/shutdown',
  ])('%s is nobody’s but the stage’s', async (path, { expect, onTestFinished }) => {
    const { heard, code } = await steer(onTestFinished);
    expect(await code({ path: `/upstream/alpha${path}` })).toBe('403 forbidden');
    expect(heard).toEqual([]);
  });

  test.for<[string, boolean]>([
    ['{"method": "list_loras"}', true],
    ['{"method": "sleep", "kwargs": {"level": 2}}', false],
    ['{"method": "list_loras", "method": "sleep"}', false],
    ['{"method": "wake_up"}', false],
    ['{"method": "reload_weights"}', false],
    ['{"method": 7}', false],
    ['["sleep"]', false],
    ['{}', false],
    ['sleep', false],
    [JSON.stringify({ method: 'list_loras', args: 'x'.repeat(70_000) }), false],
    [JSON.stringify({ method: 'sleep', args: 'x'.repeat(2_000_000) }), false],
  ])('a remote call of %.40s is passed on: %s', async ([body, passes], { expect, onTestFinished }) => {
    const { heard, code } = await steer(onTestFinished);
    expect(await code({ path: '/upstream/alpha/collective_rpc', body })).toBe(passes ? '200' : '403 forbidden');
    expect(heard).toHaveLength(passes ? 1 : 0);
  });
});

describe('what operators change', () => {
  const control = async (onTestFinished: (clean: () => Promise<void>) => void) =>
    openRig({
      door: { keys: keysOf(APP, BOSS) },
      control: (req, res) => {
        if (!req.url?.startsWith('/v1/admin/')) return false;
        res.writeHead(req.url.includes('busy') ? 409 : 200).end('{}');
        return true;
      },
      onTestFinished,
    });

  test('is told with who it was, whether it was done or not; what they only read is not', async ({
    expect,
    onTestFinished,
  }) => {
    const rig = await control(onTestFinished);
    const post = (path: string, token: string) =>
      ask(rig.port, path, { headers: { ...bearer(token), 'x-request-id': 'r-7' } });
    await post('/v1/admin/models/alpha/load?wait=false', TOKENS.boss);
    await post('/v1/admin/busy', TOKENS.boss);
    await post('/v1/admin/models/alpha/load', TOKENS.app);
    await post('/v1/admin/models/alpha/load', TOKENS.wrong);
    await ask(rig.port, '/v1/admin/models', { method: 'GET', headers: bearer(TOKENS.boss) });
    await expect.poll(() => rig.facts.length).toBe(4);
    const peer = '127.0.0.1';
    expect(rig.facts).toEqual([
      {
        kind: 'admin-acted',
        request: 'r-7',
        key: 'boss',
        peer,
        action: 'POST /v1/admin/models/alpha/load',
        status: 200,
      },
      { kind: 'admin-acted', request: 'r-7', key: 'boss', peer, action: 'POST /v1/admin/busy', status: 409 },
      {
        kind: 'admin-acted',
        request: 'r-7',
        key: 'app',
        peer,
        action: 'POST /v1/admin/models/alpha/load',
        status: 403,
      },
      {
        kind: 'admin-acted',
        request: 'r-7',
        key: undefined,
        peer,
        action: 'POST /v1/admin/models/alpha/load',
        status: 401,
      },
    ]);
  });
});
