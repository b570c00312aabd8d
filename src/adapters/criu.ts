import { access, constants, readFile, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import type { Processes } from '../ports/process.ts';
import type { Program, Programs } from '../ports/programs.ts';
import { askProgram } from './ask-program.ts';
import { BY_SUDO } from './by-sudo.ts';
import { complaintsIn, reasonIn } from './criu-log.ts';
import { codeOf } from './system-error.ts';

export type CriuOptions = {
  /** A path, or a name on PATH. */
  readonly command: string;
  /** The folder of its CUDA plugin; undefined: no plugin, whoever has GPU memory has given it up before. */
  readonly plugins: string | undefined;
  /** The program that the plugin runs: a path, or a name on PATH. */
  readonly cudaCheckpoint: string;
};

type CriuMeans = { readonly programs: Programs; readonly processes: Pick<Processes, 'ask'>; readonly isRoot: boolean };

/** What is needed of one process tree on disk. */
type Place = {
  readonly folder: string;
  /** Whether connections are kept. */
  readonly connected?: boolean;
};

/** Where distributions put it; the PATH of a person often lacks these folders. */
const SBIN = ['/usr/local/sbin', '/usr/sbin', '/sbin'];
const OLDEST = 4;
const VERSION_MS = 10_000;
const READ_MS = 10_000;
const CHECK_MS = 30_000;
/** How long it may take to find and stop all threads; a second per hundred of them is plenty. */
const COLLECT_SECS = 60;
/** Of a deleted file that is still open, as much goes into the image. */
const GHOST_LIMIT = '512M';

type Argv = readonly [string, ...string[]];

/** The criu program of this machine: whether it can work here, and its command lines. */
export class Criu {
  readonly #options: CriuOptions;
  readonly #means: CriuMeans;
  /** The file that was found fit. It is asked again when it is another one. */
  #fit: { readonly mark: string; readonly argv: Argv } | undefined;
  #version = '';

  constructor(options: CriuOptions, means: CriuMeans) {
    this.#options = options;
    this.#means = means;
  }

  /** Why it cannot work here, as something to change. */
  async hindrance(): Promise<string | undefined> {
    const { command, plugins } = this.#options;
    if (process.platform !== 'linux') return 'sleep level 4 needs Linux';
    const program = await this.#find();
    if (program === undefined)
      return `sleep level 4 needs criu, and ${command} is not there: install criu ${OLDEST} or newer, or set checkpoint.criu_path`;
    if (this.#fit?.mark === program.mark) return undefined;
    const found = await this.#examine(program);
    if (typeof found === 'string') return found;
    if (plugins !== undefined && !(await isThere(join(plugins, PLUGIN))))
      return `checkpoint.cuda_driver is "plugin", and there is no ${PLUGIN} in ${plugins}: set checkpoint.cuda_plugin_dir`;
    if (plugins === undefined) this.#fit = { mark: program.mark, argv: found };
    else {
      const path = await this.#pathForPlugin();
      if (path === undefined)
        return 'checkpoint.cuda_driver is "plugin", and the plugin of criu runs cuda-checkpoint, which was not found: set checkpoint.cuda_checkpoint_path';
      this.#fit = { mark: program.mark, argv: this.#means.isRoot ? ['env', `PATH=${path}`, ...found] : found };
    }
    return undefined;
  }

  /** Of the file that was found fit. */
  get version(): string {
    return this.#version;
  }

  dump(pid: number, place: Place): Argv {
    return [
      ...this.#argv,
      ...['dump', '--tree', String(pid), '--log-file', 'dump.log', '--timeout', String(COLLECT_SECS)],
      ...['--link-remap', '--ghost-limit', GHOST_LIMIT],
      ...this.#common(place),
    ];
  }

  /** Not detached: it stays as the parent of what it restores, and ends with it. */
  restore(place: Place): Argv {
    return [
      ...this.#argv,
      'restore',
      '--log-file',
      'restore.log',
      '--pidfile',
      pidFile(place.folder),
      ...this.#common(place),
    ];
  }

  /**
   * What both ways must agree on. Nobody waits for an answer on a connection any more, so those are closed; but for those between
   * processes that work together, and those on which somebody does wait. All of them stand still at once, and we send nothing, so nothing has
   * to keep others out meanwhile.
   */
  #common({ folder, connected = false }: Place): string[] {
    const { plugins } = this.#options;
    return [
      ...['--no-default-config', '--images-dir', folder, '--work-dir', folder, '-v2'],
      ...(connected ? ['--tcp-established', '--network-lock', 'skip'] : ['--tcp-close']),
      ...['--ext-unix-sk', '--file-locks', '--manage-cgroups=ignore'],
      // In containers the driver's files in /proc are mounts from outside.
      '--enable-external-masters',
      ...['--libdir', plugins ?? NO_PLUGINS(folder)],
    ];
  }

  get #argv(): Argv {
    if (this.#fit === undefined) throw new Error('criu is used before it was found fit');
    return this.#fit.argv;
  }

  async #find(): Promise<Program | undefined> {
    const { command } = this.#options;
    const { programs } = this.#means;
    const found = await programs.find(command);
    if (found !== undefined || command.includes('/')) return found;
    for (const folder of SBIN) {
      const there = await programs.find(join(folder, command));
      if (there !== undefined) return there;
    }
    return undefined;
  }

  /** Without that program on its PATH the plugin does nothing, and says nothing. By sudo, the PATH is sudo's own. */
  async #pathForPlugin(): Promise<string | undefined> {
    const { cudaCheckpoint } = this.#options;
    const found = await this.#means.programs.find(cudaCheckpoint);
    if (found === undefined) return undefined;
    const folder = dirname(cudaCheckpoint.includes('/') ? cudaCheckpoint : found.path);
    return [folder, process.env['PATH'] ?? ''].join(delimiter);
  }

  /** How it is run, or why it cannot be. */
  async #examine({ path }: Program): Promise<Argv | string> {
    const { isRoot, processes } = this.#means;
    const version = await processes.ask([path, '--version'], VERSION_MS);
    const number = /^Version: (\d+)(\.\S+)?/m.exec(version.output);
    if (number === null) return `${path} --version does not answer like criu: ${lastLine(version.output)}`;
    this.#version = `${number[1]}${number[2] ?? ''}`;
    if (Number(number[1]) < OLDEST) return `${path} is criu ${this.#version}; sleep level 4 needs ${OLDEST}.0 or newer`;
    const argv: Argv = isRoot ? [path] : [...BY_SUDO, path];
    const check = await processes.ask([...argv, 'check', '--no-default-config'], CHECK_MS);
    if (check.code === 0) return isRoot ? argv : ((await this.#lackOfRights()) ?? argv);
    const said = complaintsIn(check.output)[0] ?? lastLine(check.output);
    if (isRoot || complaintsIn(check.output).length > 0)
      return `criu cannot work on this machine (criu check): ${said}`;
    return (
      `criu needs root, and catnap may not run it so (${said}): run catnap as root, ` +
      `or let its user run ${path} by sudo without a password`
    );
  }

  /** What criu writes by sudo is root's to read, and what it runs is root's to end. */
  async #lackOfRights(): Promise<string | undefined> {
    const { processes } = this.#means;
    for (const [program, ...words] of [
      ['cat', '/dev/null'],
      ['kill', '-0', String(process.pid)],
    ] as const) {
      const { code, output } = await processes.ask([...BY_SUDO, program, ...words], VERSION_MS);
      if (code !== 0)
        return `criu runs by sudo, and catnap may not run ${program} so (${lastLine(output)}), which it needs beside it: allow that in sudoers`;
    }
    return undefined;
  }
}

const PLUGIN = 'cuda_plugin.so';
/** It loads whatever lies in its plugin folder; in a folder of images there is no plugin. */
const NO_PLUGINS = (folder: string): string => folder;

const pidFile = (folder: string): string => join(folder, 'root.pid');

/**
 * The process that leads what was restored; undefined as long as not everything runs again. Its number is criu's to say,
 * and it says so before it lets anything run; the last it does is to write how long it took.
 */
export async function restoredPid({ folder }: Place): Promise<number | undefined> {
  if (!(await isThere(join(folder, 'stats-restore'), constants.F_OK))) return undefined;
  const text = await textOf(pidFile(folder));
  const pid = Number.parseInt(text, 10);
  return pid > 1 ? pid : undefined;
}

/** What an earlier return has left there would be taken for this one's. */
export async function cleared({ folder }: Place): Promise<void> {
  for (const name of ['stats-restore', 'root.pid', 'restore.log', 'criu.log'])
    await rm(join(folder, name), { force: true });
}

/** Why criu failed, in one line; undefined when it does not say. */
export async function whyFailed({ folder }: Place, what: 'dump' | 'restore'): Promise<string | undefined> {
  const logs = await Promise.all(['criu.log', `${what}.log`].map((name) => textOf(join(folder, name))));
  return reasonIn(logs.join('\n'));
}

/** Nothing where there is none. By sudo, criu writes files that only root may read. */
async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) !== 'EACCES') return '';
    const { code, output } = await askProgram([...BY_SUDO, 'cat', path], READ_MS);
    return code === 0 ? output : '';
  }
}

const isThere = (path: string, mode = constants.R_OK): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  );

const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.slice(0, 200) ?? '';
