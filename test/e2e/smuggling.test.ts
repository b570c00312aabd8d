import fc from 'fast-check';
import { RawClient } from '../helpers/client.ts';
import { test } from '../helpers/e2e.ts';
import { twisted } from '../helpers/twisted.ts';
import { waitFor } from '../helpers/wait-for.ts';

/** Its answer says what the engine read, and takes no time to make. */
const PATH = '/apply-template';

/** The same name where catnap reads it and where the engine does. */
const bodyOf = (name: string): string =>
  JSON.stringify({ model: 'alpha', messages: [{ role: 'user', content: `=${name}=` }] });
const post = (name: string, fields: string, content: string): string =>
  `POST ${PATH} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${name}\r\n${fields}\r\n${content}`;
const plain = (name: string, more = ''): string =>
  post(name, `${more}Content-Length: ${bodyOf(name).length}\r\n`, bodyOf(name));

const ANSWER = /^HTTP\/1\.1 200 [^]*?\r\nx-request-id: (\S+)\r\n[^]*?\r\n\r\n[^]*?=([^=]*)=/i;

/** What catnap took each answered request for, and what the engine read in it. */
const readings = (text: string): [catnap: string | undefined, engine: string | undefined][] =>
  text
    .split(/(?=HTTP\/1\.1 \d)/)
    .filter((answer) => answer.startsWith('HTTP/1.1 200'))
    .map((answer) => ANSWER.exec(answer))
    .map((found) => [found?.[1], found?.[2]]);

test('every request that is accepted is read by llama-server as it was read here', async ({
  expect,
  onTestFinished,
  start,
  llama,
}) => {
  const catnap = await start({
    models: { alpha: await llama.counts(12) },
    header_timeout_secs: 0.4,
    body_timeout_secs: 0.4,
  });
  await catnap.chat('alpha', { max_tokens: 1 });
  let answered = 0;
  for (const { fields, content } of fc.sample(twisted(bodyOf('first'), plain('hidden')), 150)) {
    const client = new RawClient(catnap.port, onTestFinished);
    client.say(post('first', fields, content) + plain('last', 'Connection: close\r\n'));
    await waitFor('the connection to be closed', () => client.closed);
    const read = readings(client.text);
    answered += read.length;
    expect(read, JSON.stringify({ fields, content, text: client.text })).toEqual(read.map(([name]) => [name, name]));
    client.leave();
  }
  expect(answered).toBeGreaterThan(10);
  // Nothing is left on the connections to the engine that would be an answer to somebody else.
  for (const name of ['z1', 'z2', 'z3']) {
    const reply = await catnap.ask(PATH, { body: bodyOf(name), headers: { 'x-request-id': name } });
    expect([reply.headers['x-request-id'], reply.text.includes(`=${name}=`)]).toEqual([name, true]);
  }
});
