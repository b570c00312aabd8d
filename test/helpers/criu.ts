import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, readdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { catnapCacheDir } from '../../src/quickstart/cache-dir.ts';
import { debianKeyring, debianMirrors, downloadPackages, type Workplace } from '../../src/quickstart/llama/apt.ts';
import { findCommand } from '../../src/quickstart/llama/on-path.ts';
import { publish, withDraft } from '../../src/quickstart/llama/publish.ts';
import { runTool } from '../../src/quickstart/run-tool.ts';
import { Unavailable } from '../../src/quickstart/unavailable.ts';
import { isCi } from './llama.ts';
import { killSurvivors, testFolder } from './survivors.ts';

/** The part of a test's context that lets it skip itself. */
type Skippable = { skip(reason?: string): never };

type Found = { readonly kind: 'found'; readonly path: string } | Missing;
type Missing = {
  readonly kind: 'missing';
  readonly why: string;
  /** Nothing that could be installed would help. */
  readonly forGood: boolean;
};

let looked: Promise<Found> | undefined;

/**
 * The path of a criu that works here, found or fetched once per machine. Where none can work (no root, no rights in this
 * container) a test skips itself with the reason. Under CI, as root, one that just is not there is an error.
 */
export async function requireCriu(context: Skippable): Promise<string> {
  looked ??= findOrFetch();
  const found = await looked;
  if (found.kind === 'found') return found.path;
  if (isCi() && !found.forGood) throw new Error(`no criu: ${found.why}`);
  return context.skip(`no criu: ${found.why}`);
}

async function findOrFetch(): Promise<Found> {
  if (process.platform !== 'linux') return { kind: 'missing', why: 'there is none for this system', forGood: true };
  if (process.geteuid?.() !== 0) return { kind: 'missing', why: 'it needs root', forGood: true };
  const installed = (await findCommand('criu', process.env)) ?? (await findCommand('/usr/sbin/criu', process.env));
  if (installed !== undefined && (await majorVersion(installed)) >= 4) return checked(installed);
  if (process.arch !== 'x64') return { kind: 'missing', why: `none is fetched for ${process.arch}`, forGood: true };
  const place = join(catnapCacheDir(process.env), 'criu', SUITE);
  const fetched = join(place, 'criu');
  if ((await majorVersion(fetched)) >= 4) return checked(fetched);
  try {
    await fetchInto(place, fetched);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return { kind: 'missing', why: error.message, forGood: false };
  }
  return checked(fetched);
}

/** A kernel or a container may not let it do what it does, and its own check does not see all of that: it is tried. */
async function checked(path: string): Promise<Found> {
  const folder = testFolder();
  try {
    await runTool(path, ['check', '--no-default-config'], { env: process.env, limitMs: 30_000 });
    await tried(path, folder.path);
    return { kind: 'found', path };
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return { kind: 'missing', why: `it cannot work here: ${error.message}`, forGood: true };
  } finally {
    killSurvivors(folder.path);
    folder.remove();
  }
}

/** The least there is to write to disk and to bring back. */
async function tried(path: string, folder: string): Promise<void> {
  const env = { ...process.env, TEST_FOLDER: folder };
  const sleeper = spawn('sleep', ['60'], { detached: true, stdio: 'ignore', env });
  const gone = once(sleeper, 'exit');
  await once(sleeper, 'spawn');
  const rest = ['--no-default-config', '--images-dir', folder, '--manage-cgroups=ignore', '--libdir', folder];
  await runTool(path, ['dump', '--tree', String(sleeper.pid), ...rest], { env, limitMs: 30_000 });
  await gone;
  await runTool(path, ['restore', '--restore-detached', ...rest], { env, limitMs: 30_000 });
}

/** 0 when it does not run at all. */
async function majorVersion(path: string): Promise<number> {
  try {
    const { stdout } = await runTool(path, ['--version'], { env: process.env, limitMs: 10_000 });
    return Number(/^Version: (\d+)/m.exec(stdout)?.[1] ?? 0);
  } catch (error) {
    if (error instanceof Unavailable) return 0;
    throw error;
  }
}

const SUITE = 'forky';
const LOADER = 'ld-linux-x86-64.so.2';
/** criu and the libraries it is linked with, down to libc: older Debian systems have an older one of each. */
const PACKAGES = [
  ...['criu', 'libc6', 'libgcc-s1', 'libbsd0', 'libmd0', 'libgnutls30t64', 'libnet9', 'libnftables1', 'libnl-3-200'],
  ...['libprotobuf-c1', 'libuuid1', 'libp11-kit0', 'libidn2-0', 'libunistring5', 'libtasn1-6', 'libnettle8t64'],
  ...['libhogweed6t64', 'libgmp10', 'libffi8', 'libmnl0', 'libnftnl11', 'libxtables12', 'libjansson4', 'libedit2'],
  ...['libtinfo6', 'libcap2', 'zlib1g', 'libzstd1', 'libcompel1', 'libbrotli1'],
];

async function fetchInto(place: string, program: string): Promise<void> {
  const keyring = await debianKeyring();
  if (keyring === undefined) throw new Unavailable('the package debian-archive-keyring is not installed');
  await withDraft(join(place, '..'), async (draft) => {
    const workplace: Workplace = { folder: draft, env: process.env, signal: undefined };
    const [mirror] = await debianMirrors(workplace);
    if (mirror === undefined) throw new Unavailable("apt knows no mirror of Debian's archive");
    console.error(`criu: fetching it from Debian ${SUITE} at ${mirror}`);
    const terms = { mirror, suite: SUITE, keyring, packages: PACKAGES, onIndexed: () => {} };
    const flat = await unpacked(await downloadPackages(workplace, terms), workplace, place);
    await publish(flat, place, draft, async () => (await majorVersion(program)) >= 4);
  });
}

/** Its libraries lie beside it, and it is started through its own loader. */
async function unpacked(debs: readonly string[], { folder, env, signal }: Workplace, home: string): Promise<string> {
  const tree = join(folder, 'tree');
  const flat = join(folder, 'flat');
  await mkdir(tree);
  await mkdir(flat);
  for (const deb of debs) await runTool('dpkg-deb', ['-x', deb, tree], { env, limitMs: 60_000, signal });
  for (const entry of await readdir(tree, { recursive: true, withFileTypes: true })) {
    const source = join(entry.parentPath, entry.name);
    if (!/^(usr\/)?lib\/x86_64-linux-gnu$/.test(relative(tree, entry.parentPath))) continue;
    if (!/\.so(\.\d+)*$/.test(entry.name)) continue;
    if (entry.isSymbolicLink()) await symlink(basename(await readlink(source)), join(flat, entry.name));
    else await copyFile(source, join(flat, entry.name));
  }
  await chmod(join(flat, LOADER), 0o755);
  await copyFile(join(tree, 'usr/sbin/criu'), join(flat, 'criu.bin'));
  const start = `exec '${join(home, LOADER)}' --library-path '${home}' '${join(home, 'criu.bin')}' "$@"`;
  await writeFile(join(flat, 'criu'), `#!/bin/sh\n${start}\n`, { mode: 0o755 });
  return flat;
}
