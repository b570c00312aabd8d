import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import type { ConfigInput } from '../../../src/config/schema.ts';
import { waitFor } from '../../../test/helpers/wait-for.ts';
import { pathOf, startPinned, stop } from './pinned.ts';

/** What the load can be sent to: the engine itself, or a proxy before it. */
export type Contender = {
  readonly name: string;
  readonly port: number;
  /** Undefined for the engine itself, whose work is not measured. */
  readonly child: ChildProcess | undefined;
  /** Starts another one like it, which has done nothing yet. */
  readonly another: (() => Promise<Contender>) | undefined;
};

type Place = { readonly folder: string; readonly port: number; readonly enginePort: number };
type Command = readonly [string, ...string[]];

/** Each peer with its own defaults, but for its limits on how much it does at a time, which would end the comparison. */
type Proxy = {
  readonly name: string;
  readonly program: string;
  /** Writes its config and says how to start it. */
  readonly prepare: (program: string, place: Place) => Command;
};

const AT_A_TIME = 2_000;
const CHECKOUT = join(import.meta.dirname, '../../..');

const catnap = (name: string, checkout: string): Proxy => ({
  name,
  program: process.execPath,
  prepare: (node, { folder, port, enginePort }) => {
    const config: ConfigInput = {
      port,
      metrics_port: 0,
      state_dir: join(folder, `${name} state`),
      models: {
        bench: { backend: 'openai_remote', url: `http://127.0.0.1:${enginePort}`, target_inflight: AT_A_TIME },
      },
    };
    const file = written(folder, `${name}.json`, JSON.stringify(config));
    return [node, join(checkout, 'scripts/launch/catnap.mjs'), '--config', file];
  },
});

const PEERS: readonly Proxy[] = [
  {
    name: 'llama-swap',
    program: 'llama-swap',
    prepare: (program, { folder, port, enginePort }) => {
      const model = {
        cmd: 'sleep infinity',
        proxy: `http://127.0.0.1:${enginePort}`,
        checkEndpoint: 'none',
        concurrencyLimit: AT_A_TIME,
      };
      const config = written(folder, 'llama-swap.yaml', JSON.stringify({ models: { bench: model } }));
      return [program, '-config', config, '-listen', `127.0.0.1:${port}`];
    },
  },
  {
    name: 'llmux',
    program: 'llmux',
    prepare: (program, { folder, port, enginePort }) => {
      const model = { port: enginePort, wake: 'true', sleep: 'true', alive: 'true' };
      return [program, '--config', written(folder, 'llmux.json', JSON.stringify({ port, models: { bench: model } }))];
    },
  },
  {
    name: 'haproxy',
    program: 'haproxy',
    prepare: (program, { folder, port, enginePort }) => {
      const text = [
        'defaults',
        '  mode http',
        '  option http-no-delay',
        '  timeout connect 5s',
        '  timeout client 300s',
        '  timeout server 300s',
        'listen bench',
        `  bind 127.0.0.1:${port}`,
        `  server engine 127.0.0.1:${enginePort}`,
        '',
      ];
      return [program, '-db', '-n', String(2 * AT_A_TIME), '-f', written(folder, 'haproxy.cfg', text.join('\n'))];
    },
  },
];

export const PEER_NAMES: readonly string[] = PEERS.map(({ name }) => name);

export type Field = { readonly contenders: readonly Contender[]; readonly skipped: readonly string[] };

/** Starts everything there is to compare, each with an engine's address; says what is not on this machine. */
export async function startAll(
  folder: string,
  enginePort: number,
  wanted: ReadonlySet<string>,
  before: string | undefined,
): Promise<Field> {
  const earlier = before === undefined ? [] : [catnap('catnap before', resolve(before))];
  const peers = PEERS.filter(({ name }) => wanted.size === 0 || wanted.has(name));
  const contenders: Contender[] = [{ name: 'direct', port: enginePort, child: undefined, another: undefined }];
  const skipped: string[] = [];
  for (const proxy of [catnap('catnap', CHECKOUT), ...earlier, ...peers]) {
    const program = pathOf(proxy.program);
    if (program === undefined) {
      skipped.push(`${proxy.name}: there is no ${proxy.program} on the PATH`);
      continue;
    }
    try {
      contenders.push(await start(proxy, program, folder, enginePort));
    } catch (error) {
      skipped.push(`${proxy.name}: it did not start (${String(error)})`);
    }
  }
  return { contenders, skipped };
}

async function start(proxy: Proxy, program: string, folder: string, enginePort: number): Promise<Contender> {
  const { name } = proxy;
  const port = await freePort();
  const place = { folder: mkdtempSync(join(folder, 'proxy-')), port, enginePort };
  const child = startPinned('measured', proxy.prepare(program, place));
  try {
    await waitFor(`${name} to listen`, () => child.exitCode !== null || listens(port));
    if (child.exitCode !== null) throw new Error(`it ended at once with ${child.exitCode}`);
    return { name, port, child, another: () => start(proxy, program, folder, enginePort) };
  } catch (error) {
    await stop(child);
    throw error;
  }
}

function written(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer().once('error', reject);
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
  });
  return promise;
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1', () => resolve(true));
  socket.once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
