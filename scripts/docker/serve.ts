import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { execa } from 'execa';
import { inPlace, type Place } from './build.ts';
import type { Dockerfile } from './dockerfile.ts';

const HEALTHY_WITHIN_MS = 60_000;
/** The port inside the container, as the health check asks for it. */
const PORT_INSIDE = ':3000/';

/** Starts what the image starts, on a free port, waits until its health check passes, asks it to stop, and says how it ended. */
export async function serveOnce(
  image: Place,
  { command, health }: Dockerfile,
): Promise<{ code: number | undefined; output: string }> {
  const port = await freePort();
  const [program = '', ...args] = command.map((part) => (part.startsWith('/') ? join(image.root, part) : part));
  const serving = execa(program, [...args, '--port', String(port)], {
    cwd: join(image.root, image.workdir),
    env: { ...image.env, HOME: image.root, XDG_STATE_HOME: join(image.root, 'state') },
    all: true,
    reject: false,
    stdin: 'ignore',
    forceKillAfterDelay: 45_000,
  });
  const over = new AbortController();
  const ended = serving.then(({ exitCode, all }) => {
    over.abort();
    return { code: exitCode, output: all };
  });
  const asked = health.map((part) => part.replace(PORT_INSIDE, `:${port}/`));
  const deadline = performance.now() + HEALTHY_WITHIN_MS;
  try {
    while (!over.signal.aborted) {
      if (!(await inPlace(image, asked)).failed) break;
      if (performance.now() > deadline) throw new Error(`not healthy within ${HEALTHY_WITHIN_MS / 1_000} s`);
      await pause(100);
    }
  } finally {
    serving.kill('SIGTERM');
  }
  return ended;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port to be had');
  return address.port;
}
