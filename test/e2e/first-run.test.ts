import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { catnapCacheDir } from '../../src/quickstart/cache-dir.ts';
import { freePort, test } from '../helpers/e2e.ts';
import { survivors } from '../helpers/survivors.ts';
import { waitFor } from '../helpers/wait-for.ts';

const ROOT = join(import.meta.dirname, '../..');
const CHECKOUT = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  'tsconfig.json',
  'tsconfig.build.json',
  'src',
  'scripts',
];

/** A clean checkout whose dependencies have been installed already. */
function checkoutIn(folder: string): string {
  const checkout = join(folder, 'checkout');
  for (const name of CHECKOUT) cpSync(join(ROOT, name), join(checkout, name), { recursive: true });
  symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(checkout, 'node_modules'));
  return checkout;
}

/** A cache that has fetched what this machine's has, and made nothing yet. */
function cacheIn(folder: string, has: readonly string[]): string {
  const [cache, real] = [join(folder, 'cache'), catnapCacheDir(process.env)];
  mkdirSync(cache);
  for (const name of has) if (existsSync(join(real, name))) symlinkSync(join(real, name), join(cache, name));
  return cache;
}

/** A folder with these programs and no others. */
function programsIn(folder: string, names: readonly string[]): string {
  const path = join(folder, 'bin');
  mkdirSync(path);
  for (const name of names) {
    const found = (process.env['PATH'] ?? '').split(delimiter).find((entry) => existsSync(join(entry, name)));
    if (found === undefined) throw new Error(`there is no ${name} on PATH`);
    symlinkSync(realpathSync(join(found, name)), join(path, name));
  }
  return path;
}

/** What a first run tells. */
class Telling {
  #text = '';

  constructor({ stdout, stderr }: ChildProcess) {
    for (const stream of [stdout, stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#text += text;
      });
    }
  }

  get text(): string {
    return this.#text.replaceAll('\r', '');
  }

  /** The command lines that it shows, once it shows them all. */
  async commands(): Promise<string[]> {
    await waitFor('the first run to be ready', () => this.text.includes('Ctrl+C ends it'), { within: 150_000 });
    return this.text.split('\n').filter((line) => line.startsWith('curl '));
  }
}

/** What a command line prints that somebody pastes into another terminal. */
async function paste(command: string): Promise<string> {
  const { stdout } = await execa('sh', ['-c', command], { stdin: 'ignore', timeout: 60_000 });
  return JSON.parse(stdout).choices[0].message.content;
}

test.runIf(existsSync('/usr/bin/script'))(
  'npm start in a clean checkout serves alpha and beta, shows lines that work, and leaves nothing at Ctrl+C',
  async ({ expect, folder, llama }) => {
    const checkout = checkoutIn(folder);
    const path = `${join(llama.server, '..')}${delimiter}${process.env['PATH'] ?? ''}`;
    // util-linux's script gives a terminal: what is written to it is typed. Without exec its shell would die of the Ctrl+C, too.
    const terminal = spawn('/usr/bin/script', ['-qfec', 'exec npm start -- -p 0', '/dev/null'], {
      cwd: checkout,
      env: { ...process.env, PATH: path, TMPDIR: folder, CATNAP_CACHE: cacheIn(folder, ['node']) },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const telling = new Telling(terminal);
    const commands = await telling.commands();
    expect(telling.text).toContain('served by a real llama-server');
    expect(commands).toHaveLength(3);
    expect(telling.text).toMatch(/`npx catnap status --url http:\/\/127\.0\.0\.1:\d+`/);
    const answers = [];
    for (const command of commands) answers.push(await paste(command));
    const [alpha, beta] = ['Hello from alpha, the first model.', 'Greetings from beta, the second model.'];
    expect(answers).toEqual([alpha, beta, alpha]);
    // Npm, the shell's launcher, catnap and its engine, besides the terminal.
    expect(survivors(folder).some(({ command }) => command.includes('llama-server'))).toBe(true);

    terminal.stdin.write('\x03');
    const [code] = await once(terminal, 'close');
    expect(code).toBe(0);
    expect(telling.text).toContain('SIGINT: shutting down');
    expect(survivors(folder)).toEqual([]);
    expect(readdirSync(join(folder, 'cache', 'first-run-0', 'engines'))).toEqual([]);
  },
);

test('where no llama-server can be had, npm start says so and serves the built-in engine', async ({
  expect,
  folder,
}) => {
  const npm = spawn('npm', ['start', '--', '-p', '0'], {
    cwd: checkoutIn(folder),
    env: {
      HOME: folder,
      TMPDIR: folder,
      CATNAP_CACHE: cacheIn(folder, ['node']),
      CATNAP_LOG_FORMAT: 'human',
      PATH: programsIn(folder, ['node', 'npm', 'sh']),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const telling = new Telling(npm);
  const commands = await telling.commands();
  expect(telling.text).toContain('llama-server is not on PATH');
  expect(telling.text).toContain('install llama-server with');
  expect(telling.text).toContain('the built-in stub engine');
  const answers = await Promise.all(commands.map(paste));
  expect(answers).toEqual(['alpha', 'beta', 'alpha'].map((name) => expect.stringContaining(name)));
  npm.kill('SIGTERM');
  await once(npm, 'close');
  expect(telling.text).toContain('catnap has stopped');
  expect(survivors(folder)).toEqual([]);
});

test('two first runs do not get in the way of each other, and a port that is taken is told in words that fit', async ({
  expect,
  folder,
}) => {
  const checkout = checkoutIn(folder);
  const env = {
    HOME: folder,
    TMPDIR: folder,
    CATNAP_CACHE: cacheIn(folder, ['node']),
    PATH: programsIn(folder, ['node', 'npm', 'sh']),
  };
  const begin = (port: number) => {
    const child = spawn('npm', ['start', '--', '-p', String(port)], {
      cwd: checkout,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return { child, telling: new Telling(child), ended: once(child, 'close') };
  };
  const port = await freePort();
  const running = [begin(port)];
  await running[0]?.telling.commands();
  const taken = begin(port);
  const [code] = await taken.ended;
  expect(code).toBe(2);
  expect(taken.telling.text).toContain('`-p PORT` gives this one a port and a state folder of its own');
  running.push(begin(await freePort()));
  await running[1]?.telling.commands();
  for (const { child, ended } of running) {
    child.kill('SIGTERM');
    await ended;
  }
  expect(survivors(folder)).toEqual([]);
});
