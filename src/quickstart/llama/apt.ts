import { access, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env } from '../cache-dir.ts';
import { runTool } from '../run-tool.ts';

/** What a fetch is told once: a folder of its own to work in, the environment, and when to give up. */
export type Workplace = {
  readonly folder: string;
  readonly env: Env;
  readonly signal: AbortSignal | undefined;
};

const LIST_LIMIT_MS = 20_000;
const INDEX_LIMIT_MS = 120_000;
const DOWNLOAD_LIMIT_MS = 300_000;

/** Where Debian's packages are signed: apt checks every byte that is fetched against these keys. */
const KEYRINGS = [
  '/usr/share/keyrings/debian-archive-keyring.pgp',
  '/usr/share/keyrings/debian-archive-keyring.gpg',
] as const;

export async function debianKeyring(): Promise<string | undefined> {
  for (const keyring of KEYRINGS) {
    const found = await access(keyring).then(
      () => true,
      () => false,
    );
    if (found) return keyring;
  }
  return undefined;
}

/**
 * The mirrors that this system's apt is set up to use and that could carry Debian's main archive, likeliest first.
 * apt itself is asked what it would update, since that works before the first update and for every form of sources.
 */
export async function debianMirrors({ folder, env, signal }: Workplace): Promise<string[]> {
  const given = env['DEBIAN_MIRROR'];
  if (given !== undefined && given !== '') return [given.replace(/\/+$/, '')];
  const lists = await emptyLists(folder, 'mirrors');
  const { stdout } = await runTool(
    'apt-get',
    ['update', '--print-uris', '-o', `Dir::State::Lists=${lists}`, '-o', 'Debug::NoLocking=1'],
    { env, limitMs: LIST_LIMIT_MS, signal },
  );
  return mirrorsIn(stdout);
}

/** Reads lines like `'http://HOST/debian/dists/SUITE/InRelease' FILE 0`. */
export function mirrorsIn(uris: string): string[] {
  const bases = Array.from(
    uris.matchAll(/^'(https?:\/\/[^']+?)\/+dists\/[^']*\/InRelease'/gm),
    ([, base = '']) => base,
  );
  const archives = [...new Set(bases)].filter((base) => !/-security|security\.|-debug|-ports/.test(base));
  const rank = (base: string): number => (base.endsWith('/debian') ? 0 : 1);
  return archives.sort((a, b) => rank(a) - rank(b));
}

/**
 * Downloads packages of a suite without touching the system's own lists, cache or status, and without root.
 * apt checks signatures and hashes, and uses the proxies that the system has set for it.
 */
export async function downloadPackages(
  { folder, env, signal }: Workplace,
  {
    mirror,
    suite,
    keyring,
    packages,
    onIndexed,
  }: {
    readonly mirror: string;
    readonly suite: string;
    readonly keyring: string;
    readonly packages: readonly string[];
    readonly onIndexed: () => void;
  },
): Promise<string[]> {
  const lists = await emptyLists(folder, 'lists');
  const archives = join(folder, 'debs');
  await mkdir(archives, { recursive: true });
  const sources = join(folder, 'sources.list');
  const status = join(folder, 'status');
  const settings = join(folder, 'apt.conf');
  await writeFile(sources, `deb [arch=amd64 target=Packages signed-by=${keyring}] ${mirror} ${suite} main\n`);
  await writeFile(status, '');
  await writeFile(settings, SETTINGS);

  const options = [
    ['-c', settings],
    ...[
      `Dir::Etc::SourceList=${sources}`,
      `Dir::State=${folder}`,
      `Dir::State::Lists=${lists}`,
      `Dir::State::status=${status}`,
      `Dir::Cache=${folder}`,
    ].map((setting) => ['-o', setting]),
  ].flat();
  await runTool('apt-get', [...options, 'update'], { env, limitMs: INDEX_LIMIT_MS, signal });
  onIndexed();
  await runTool('apt-get', [...options, 'download', ...packages], {
    env,
    limitMs: DOWNLOAD_LIMIT_MS,
    signal,
    cwd: archives,
  });
  const names = await readdir(archives);
  return names
    .filter((name) => name.endsWith('.deb'))
    .sort()
    .map((name) => join(archives, name));
}

/** The system's hooks are cleared: they tidy the system's own cache or wake its desktop, which is none of our business. */
const SETTINGS = `
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Architecture "amd64";
APT::Architectures "amd64";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Debug::NoLocking "1";
quiet "2";
`;

async function emptyLists(folder: string, name: string): Promise<string> {
  const lists = join(folder, name);
  await mkdir(join(lists, 'partial'), { recursive: true });
  return lists;
}
