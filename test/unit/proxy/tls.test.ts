import { connect as connectPlain } from 'node:net';
import { request } from 'node:https';
import { connect } from 'node:tls';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import { describe, test } from 'vitest';
import { makeCertificate } from '../../helpers/certificate.ts';
import { chat } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const [one, two] = [makeCertificate('one'), makeCertificate('two')];

/** Asks with a trust in this certificate alone. */
async function ask(port: number, ca: string, headers: Record<string, string> = {}) {
  const req = request({
    host: '127.0.0.1',
    port,
    path: '/v1/chat/completions',
    method: 'POST',
    ca,
    agent: false,
    headers: { 'content-type': 'application/json', ...headers },
  });
  req.end(chat('alpha'));
  const [res] = await once(req, 'response');
  return { status: res.statusCode, body: await text(res) };
}

describe('with a certificate', () => {
  test('clients are served over TLS, engines are told so, and HTTP/1.1 is all there is', async ({
    expect,
    onTestFinished,
  }) => {
    let proto: unknown;
    const upstream = await httpUpstream((req, res) => {
      proto = req.headers['x-forwarded-proto'];
      res.end('{"ok":1}');
    });
    const rig = await openRig({ upstream, tls: one, onTestFinished });
    expect(await ask(rig.port, one.cert)).toEqual({ status: 200, body: '{"ok":1}' });
    expect(proto).toBe('https');
    // What many Java clients ask with each request is no reason to fail.
    const java = {
      connection: 'Upgrade, HTTP2-Settings',
      upgrade: 'h2c',
      'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA',
    };
    expect((await ask(rig.port, one.cert, java)).status).toBe(200);
    const socket = connect({ host: '127.0.0.1', port: rig.port, ca: one.cert, ALPNProtocols: ['h2', 'http/1.1'] });
    await once(socket, 'secureConnect');
    expect([socket.alpnProtocol, socket.getProtocol()]).toEqual(['http/1.1', 'TLSv1.3']);
    socket.destroy();
  });

  test('a client that speaks plainly, or an old TLS, is not let in, and it is told', async ({
    expect,
    onTestFinished,
  }) => {
    const rig = await openRig({ tls: one, onTestFinished });
    const plain = connectPlain(rig.port, '127.0.0.1').on('error', () => {});
    plain.write('GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(plain.resume(), 'close');
    const old = connect({
      host: '127.0.0.1',
      port: rig.port,
      ca: one.cert,
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
    });
    await once(old, 'error');
    await waitFor('both to be told', () => rig.facts.length >= 2);
    expect(rig.facts).toEqual(rig.facts.map(() => expect.objectContaining({ kind: 'client-error' })));
    expect((await ask(rig.port, one.cert)).status).toBe(200);
  });

  test('a new one is for new connections; open ones stay', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ tls: one, onTestFinished });
    rig.admission.answering = 'hold';
    const open = ask(rig.port, one.cert);
    await waitFor('it to wait', () => rig.admission.asked.length === 1);
    rig.listener.renew(two);
    await expect(ask(rig.port, one.cert)).rejects.toThrow(/self-signed/);
    rig.admission.grantHeld();
    expect((await open).status).toBe(200);
    rig.admission.answering = 'grant';
    expect((await ask(rig.port, two.cert)).status).toBe(200);
  });

  test('closing does not wait for those in the middle of a handshake', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ tls: one, onTestFinished });
    const silent = connectPlain(rig.port, '127.0.0.1').on('error', () => {});
    await once(silent, 'connect');
    const gone = once(silent.resume(), 'close');
    await rig.listener.close(0);
    await gone;
    expect(rig.bugs).toEqual([]);
  });
});
