import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { chatBody, JSON_BODY } from '../helpers/catnap.ts';
import { freePort, test } from '../helpers/e2e.ts';
import { LONG } from '../helpers/event-stream.ts';
import { survivors } from '../helpers/survivors.ts';
import { waitFor } from '../helpers/wait-for.ts';

const ENGINE = join(import.meta.dirname, '../fixtures/engine.ts');

/** The command line of a server of one's own. */
const engine = (...flags: string[]): [string, ...string[]] => [process.execPath, ENGINE, '--port', '${PORT}', ...flags];

const saidIn = (body: string): string => JSON.parse(body).choices[0].message.content;

test('a server that only SIGKILL ends, and what it has sent away, is gone before the next model starts', async ({
  expect,
  start,
  llama,
  folder,
}) => {
  const catnap = await start({
    models: {
      own: { backend: 'command', command: engine('--stubborn', '--fork'), stop_grace_secs: 0.1 },
      alpha: await llama.says('I am alpha.'),
    },
  });
  await catnap.chat('own');
  const { pid } = await catnap.engine('own');
  const own = survivors(folder)
    .map((process) => process.pid)
    .filter((other) => other !== catnap.pid);
  expect(own).toHaveLength(2);
  expect(own).toContain(pid);

  expect((await catnap.chat('alpha')).status).toBe(200);
  const alpha = await catnap.engine('alpha');
  const left = survivors(folder).map((process) => process.pid);
  expect(new Set(left)).toEqual(new Set([catnap.pid, alpha.pid]));
  const moves = (await catnap.told('engine-moved')).map(({ model, to }) => `${String(model)} ${String(to)}`);
  expect(moves).toEqual(['own starting', 'own awake', 'own stopping', 'own off', 'alpha starting', 'alpha awake']);
});

test('a server of its own is stopped by its own command', async ({ expect, start, llama, folder }) => {
  const file = join(folder, 'stopped');
  const catnap = await start({
    models: {
      own: {
        backend: 'command',
        command: engine('--stubborn'),
        stop_command: ['sh', '-c', `echo "$0 $1" > '${file}'; kill -KILL "$0"`, '${PID}', '${PORT}'],
        // Longer than this test may take.
        stop_grace_secs: 100,
      },
      alpha: await llama.says('I am alpha.'),
    },
    stop_timeout_secs: 400,
  });
  await catnap.chat('own');
  expect(existsSync(file)).toBe(false);
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect(existsSync(file)).toBe(true);
});

/** A server somewhere else, which keeps what it was asked. */
async function elsewhere() {
  const asked: { readonly url: string | undefined; readonly headers: IncomingHttpHeaders; readonly body: string }[] =
    [];
  const server = createServer(async (req, res) => {
    asked.push({ url: req.url, headers: req.headers, body: await text(req) });
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'I am elsewhere.' } }] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    asked,
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a model that runs elsewhere is asked at once, whoever is awake here, with its own name and key', async ({
  expect,
  start,
  llama,
}) => {
  await using other = await elsewhere();
  const catnap = await start({
    models: {
      alpha: await llama.counts(200),
      beta: await llama.says('I am beta.'),
      other: { backend: 'openai_remote', url: other.url, api_key: 'its-own', served_model_name: 'other-1' },
    },
  });
  await catnap.chat('alpha', { max_tokens: 1 });
  const { pid } = await catnap.engine('alpha');
  const stream = await (await catnap.stream('alpha', LONG)).begun();
  process.kill(pid, 'SIGSTOP');
  const beta = catnap.chat('beta');
  await catnap.fact('swap-planned', { to: 'beta' });

  // Alpha is halted and beta waits for it; the third one waits for neither.
  const { status, text: answer } = await catnap.ask('/v1/chat/completions', {
    headers: { ...JSON_BODY, authorization: 'Bearer the-clients', 'x-api-key': 'the-clients' },
    body: chatBody('other'),
  });
  expect([status, saidIn(answer)]).toEqual([200, 'I am elsewhere.']);
  expect(other.asked).toMatchObject([{ url: '/v1/chat/completions', headers: { authorization: 'Bearer its-own' } }]);
  expect(JSON.parse(other.asked[0]?.body ?? '')).toEqual({ ...JSON.parse(chatBody('other')), model: 'other-1' });
  expect(JSON.stringify(other.asked)).not.toContain('the-clients');
  expect(stream.over).toBe(false);
  expect(await catnap.models()).toMatchObject({ swap: { to: 'beta' } });
  process.kill(pid, 'SIGCONT');
  stream.leave();
  expect((await beta).status).toBe(200);
  expect((await catnap.model('other')).is_loaded).toBe(true);
});

test('a model that runs elsewhere and is not there is told as such', async ({ expect, start }) => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const catnap = await start({ models: { other: { backend: 'openai_remote', url } } });
  const { status, headers, text: answer } = await catnap.chat('other');
  expect([status, JSON.parse(answer).error.code]).toEqual([502, 'engine_unreachable']);
  expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
});

test('the replicas of a model share its requests, the least busy one first', async ({ expect, start, folder }) => {
  const holds = join(folder, 'holds');
  const command = engine('--hold-while', holds);
  const catnap = await start({ models: { own: { backend: 'command', command, replicas: 2, target_inflight: 3 } } });
  const working = () =>
    Promise.all(
      [0, 1].map(async (replica) => {
        const { port } = await catnap.engine('own', replica);
        return JSON.parse(await (await fetch(`http://127.0.0.1:${port}`)).text()).working;
      }),
    );
  /** Asks so often at a time, and gives what is answered once each replica works on that many. */
  const answers = async (count: number, each: number): Promise<string[]> => {
    writeFileSync(holds, '');
    const asked = Array.from({ length: count }, () => catnap.chat('own'));
    const seen = () => working().catch(String);
    await expect.poll(seen).toEqual([each, each]);
    rmSync(holds);
    return (await Promise.all(asked)).map((reply) => saidIn(reply.text));
  };
  const four = await answers(4, 2);
  const pids = [(await catnap.engine('own', 0)).pid, (await catnap.engine('own', 1)).pid];
  expect(four.toSorted()).toEqual(pids.flatMap((pid) => [`${pid} 2`, `${pid} 2`]).toSorted());
  // Three are the most that each is given, so the seventh waits until one of them is free.
  const seven = await answers(7, 3);
  for (const pid of pids) expect(seven.filter((answer) => answer === `${pid} 3`)).toHaveLength(3);
});

test('a replica that dies takes only its own requests with it, and comes back', async ({ expect, start, folder }) => {
  const holds = join(folder, 'holds');
  writeFileSync(holds, '');
  const command = engine('--hold-while', holds);
  const catnap = await start({ models: { own: { backend: 'command', command, replicas: 2 } } });
  const asked = [catnap.chat('own'), catnap.chat('own')];
  await expect.poll(() => catnap.model('own')).toMatchObject({ runtime_inflight: 2 });
  const [lost, stays] = [await catnap.engine('own', 0), await catnap.engine('own', 1)];
  process.kill(lost.pid, 'SIGKILL');
  await catnap.fact('request-ended', { outcome: 'failed', code: 'engine_died' });
  rmSync(holds);
  const replies = await Promise.all(asked);
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 502]);
  expect(saidIn(replies.find(({ status }) => status === 200)?.text ?? '')).toBe(`${stays.pid} 1`);
  expect((await catnap.chat('own')).status).toBe(200);
  await waitFor('the other replica', async () => (await catnap.model('own')).loaded_replicas === 2);
});
