import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf } from './system-error.ts';

/** How long whoever has the folder may take to say who he is. One that is busy takes a while, and an operator needs to know which process it is. */
const ANSWER_LIMIT_MS = 5_000;

/**
 * Takes a folder for this process alone, until it ends, however it ends. The lock is a listening socket: the kernel
 * gives its name to one process only and takes it back when that process is gone, so no lock can be left behind.
 * Rejects with who has it.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const { address, isFile } = lockAddress(folder);
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(`${process.pid}\n`);
  });
  if (!(await listens(server, address))) {
    const holder = await ask(address);
    // A file outlives its socket; and the holder may have ended just now.
    if (!holder.alive && isFile) await rm(address, { force: true });
    if (holder.alive || !(await listens(server, address))) throw inUse(folder, holder.pid);
  }
  server.unref();
  server.on('error', () => {}); // who could not be answered waits, and then takes us for alive all the same
  return () => new Promise((resolve) => server.close(() => resolve()));
}

function inUse(folder: string, pid: number | undefined): Error {
  const who = pid === undefined ? 'another catnap' : `another catnap (process ${pid})`;
  return new Error(`${folder} is in use by ${who}; stop that one, or give this one a state_dir of its own`);
}

/** On Linux a name without a file, made from the folder's identity, so that every path to it finds the same lock. */
function lockAddress(folder: string): { address: string; isFile: boolean } {
  const { dev, ino } = statSync(folder, { bigint: true });
  const name = `catnap-state-${dev.toString(36)}-${ino.toString(36)}`;
  if (process.platform === 'linux') return { address: `\0${name}`, isFile: false };
  // Not in the folder itself: the path of a socket may have about 100 bytes.
  return { address: join(tmpdir(), `${name}.sock`), isFile: true };
}

/** False when the name is taken. */
const listens = (server: Server, address: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const fail = (error: unknown) => (codeOf(error) === 'EADDRINUSE' ? resolve(false) : reject(error));
    server.once('error', fail);
    server.listen(address, () => {
      server.off('error', fail);
      resolve(true);
    });
  });

/** Who holds the lock, if somebody does. One who does not say within the limit is alive all the same. */
function ask(address: string): Promise<{ alive: boolean; pid: number | undefined }> {
  return new Promise((resolve) => {
    const socket = connect(address);
    let said = '';
    socket.setEncoding('latin1').setTimeout(ANSWER_LIMIT_MS);
    socket.on('data', (text: string) => (said = (said + text).slice(0, 20)));
    const settle = () => {
      socket.destroy();
      const pid = Number.parseInt(said, 10);
      resolve({ alive: true, pid: Number.isNaN(pid) ? undefined : pid });
    };
    socket.on('end', settle).on('timeout', settle);
    socket.on('error', () => {
      socket.destroy();
      resolve({ alive: false, pid: undefined });
    });
  });
}
