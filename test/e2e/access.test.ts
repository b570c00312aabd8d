import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { fastHash, makeKey } from '../../src/access/proof.ts';
import { makeCertificate } from '../helpers/certificate.ts';
import { chatBody, JSON_BODY } from '../helpers/catnap.ts';
import { ask, RawClient } from '../helpers/client.ts';
import { freePort, test } from '../helpers/e2e.ts';
import { waitFor } from '../helpers/wait-for.ts';

const stub = (more: object = {}) => ({ backend: 'stub' as const, ...more });
const CHAT = '/v1/chat/completions';

/** A request as a browser sends it for a page of this origin. */
const asPage = (origin: string) => ({ origin, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' });

test('on one machine without keys: programs are served, pages of others are not', async ({
  expect,
  start,
  onTestFinished,
}) => {
  const catnap = await start({ models: { alpha: stub(), beta: stub() } });
  const statuses = async (headers: Record<string, string>) => {
    const admin = await catnap.ask('/v1/admin/models', { method: 'GET', headers });
    const act = await catnap.ask('/v1/admin/models/alpha/load', { headers });
    const chat = await catnap.ask(CHAT, {
      headers: { ...headers, 'content-type': 'text/plain' },
      body: chatBody('alpha'),
    });
    return [admin.status, act.status === 403 ? 403 : 'let in', chat.status];
  };
  expect(await statuses({})).toEqual([200, 'let in', 200]);
  expect(await statuses(asPage('https://evil.example.com'))).toEqual([403, 403, 403]);
  // A page that has pointed its own name at this address.
  expect(await statuses({ host: 'evil.example.com', origin: 'http://evil.example.com' })).toEqual([403, 403, 403]);
  expect(await statuses({ host: 'evil.example.com' })).toEqual([403, 403, 200]);
  // A proxy on this machine, for somebody who is not on it.
  expect(await statuses({ 'x-forwarded-for': '203.0.113.9' })).toEqual([403, 403, 200]);
  const smuggler = new RawClient(catnap.port, onTestFinished);
  smuggler.say(
    'GET /v1/admin/models HTTP/1.1\r\nHost: localhost\r\nHost: evil.example.com\r\nConnection: close\r\n\r\n',
  );
  await waitFor('it to be refused', () => smuggler.closed);
  expect(smuggler.text).toMatch(/^HTTP\/1\.1 400 /);
  const told = await catnap.fact('admin-acted', { status: 403 });
  expect(told).toMatchObject({ level: 'warn', action: 'POST /v1/admin/models/alpha/load', peer: '127.0.0.1' });
});

test('with keys: each opens what it says, on the port that is for it, and no secret is told anywhere', async ({
  expect,
  start,
  run,
  folder,
}) => {
  const probe = makeKey();
  const [app, boss, engine, variable] = [makeKey(), makeKey(), 'sk-engine-planted-0123', 'planted-value-of-env'];
  writeFileSync(join(folder, 'boss.key'), `${boss}\n`);
  const adminPort = await freePort();
  const config = {
    models: {
      alpha: stub(),
      beta: stub(),
      gamma: {
        backend: 'command' as const,
        command: ['false', '${PORT}'] as [string, string],
        api_key: engine,
        env: { TOKEN: variable },
      },
    },
    keys: [
      { name: 'app', hash: fastHash(app), models: ['alpha', 'gamma'] },
      { name: 'probe', hash: fastHash(probe), may_swap: false },
      { name: 'boss', key_file: join(folder, 'boss.key'), admin: true, infer: false },
    ],
    admin_port: adminPort,
    host: '0.0.0.0',
  };
  const catnap = await start(config);
  const bearer = (key: string) => ({ ...JSON_BODY, authorization: `Bearer ${key}` });
  const answers: string[] = [];
  const keep = async (reply: ReturnType<typeof ask>) => {
    const { status, text, rawHeaders } = await reply;
    answers.push(text, rawHeaders.join('\n'));
    return status;
  };
  const main = (path: string, key: string, body?: string) =>
    keep(
      ask(catnap.port, path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: bearer(key),
        ...(body && { body }),
      }),
    );
  const own = (path: string, key: string) => keep(ask(adminPort, path, { method: 'GET', headers: bearer(key) }));

  // A health check wakes nobody: neither the first model nor another one.
  expect(await main(CHAT, probe, chatBody('alpha'))).toBe(409);
  expect(await main(CHAT, app, chatBody('alpha'))).toBe(200);
  expect([await main(CHAT, probe, chatBody('alpha')), await main(CHAT, probe, chatBody('beta'))]).toEqual([200, 409]);
  expect(await main(CHAT, app, chatBody('beta'))).toBe(404);
  expect(await main(CHAT, app, chatBody('gamma'))).toBe(503);
  expect(await main(CHAT, boss, chatBody('alpha'))).toBe(403);
  expect(await main(CHAT, `${app}x`, chatBody('alpha'))).toBe(401);
  expect(await main(`${CHAT}?api_key=${app}`, '', chatBody('alpha'))).toBe(401);
  const list = await ask(catnap.port, '/v1/models', { method: 'GET', headers: bearer(app) });
  expect(JSON.parse(list.text)).toMatchObject({ data: [{ id: 'alpha' }, { id: 'gamma' }] });
  expect([await main('/v1/admin/models', boss), await own('/v1/admin/models', boss)]).toEqual([404, 200]);
  expect([await own('/v1/admin/models', app), await own('/v1/admin/models', '')]).toEqual([403, 401]);
  expect([await own('/v1/models', app), await own('/health', ''), await main('/health', '')]).toEqual([404, 200, 200]);
  expect(await keep(ask(adminPort, '/v1/admin/nothing', { headers: bearer(boss) }))).toBe(404);
  expect(await catnap.fact('admin-acted')).toMatchObject({
    key: 'boss',
    action: 'POST /v1/admin/nothing',
    status: 404,
  });
  answers.push((await catnap.get('/metrics')).text);
  expect(answers.at(-1)).toContain('catnap_key_requests_total{key="app",outcome="served"} 1');

  const status = await run(['status', '--config', join(folder, 'catnap.json')]);
  expect([status.code, status.out]).toEqual([0, expect.stringContaining('gamma failed')]);
  const url = `http://127.0.0.1:${adminPort}`;
  const keyless = await run(['status', '--url', url]);
  expect([keyless.code, keyless.err]).toEqual([1, expect.stringContaining('CATNAP_KEY')]);
  const keyed = await run(['status', '--url', url, '--json'], { env: { CATNAP_KEY: boss } });
  expect(keyed.code).toBe(0);

  // One more config, with mistakes in it, whose report may not give a secret away either.
  writeFileSync(join(folder, 'bad.json'), JSON.stringify({ ...config, keys: [{ name: 'app', key: app, hash: boss }] }));
  const bad = await run(['config', 'check', '--config', join(folder, 'bad.json')]);
  expect(bad.code).toBe(2);

  await catnap.stop();
  const said = [catnap.lines.map((line) => JSON.stringify(line)).join('\n'), catnap.log, status.out, status.err];
  const all = [...answers, ...said, keyless.err, keyed.out, bad.out, bad.err, ...filesIn(join(folder, 'state'))].join(
    '\n',
  );
  expect(all).toContain('"gamma"');
  for (const secret of [app, boss, probe, engine, variable]) expect(all.includes(secret)).toBe(false);
  expect(all.includes(fastHash(app))).toBe(false);
});

/** Everything it has written to disk. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, 'latin1'));
}

test('over TLS: the certificate is renewed without a pause, and the commands find their way', async ({
  expect,
  launch,
  run,
  folder,
}) => {
  const [one, two] = [makeCertificate('one'), makeCertificate('two')];
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const install = (pair: typeof one): void => {
    writeFileSync(cert, pair.cert);
    writeFileSync(key, pair.key);
  };
  install(one);
  const port = await freePort();
  const catnap = launch({ port, models: { alpha: stub() }, tls: { cert, key, check_secs: 0.05 } });
  await catnap.listens();
  expect((await catnap.fact('listening', { what: 'main' }))['url']).toBe(`https://127.0.0.1:${port}`);
  const status = await run(['status', '--config', join(folder, 'catnap.json')]);
  expect([status.code, status.err]).toEqual([0, '']);
  expect(status.out).toContain(`https://127.0.0.1:${port}`);
  install(two);
  await catnap.fact('certificate-renewed');
  const shown = connect({ host: '127.0.0.1', port, ca: two.cert });
  await once(shown, 'secureConnect');
  shown.destroy();
  // A file that fits nothing is told, and the last good pair stays.
  writeFileSync(key, one.key);
  await catnap.fact('warned');
  expect((await run(['status', '--config', join(folder, 'catnap.json')])).code).toBe(0);
});
