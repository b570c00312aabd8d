import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import type { Env } from '../cache-dir.ts';
import { fileTrouble } from '../file-trouble.ts';
import { Unavailable } from '../unavailable.ts';
import { debianKeyring, debianMirrors, downloadPackages, type Workplace } from './apt.ts';
import { checkLlamaServer, fetchedFolder, fetchedServer, type FindResult } from './find.ts';
import { findCommand } from './on-path.ts';
import { LLAMA_SERVER, SUITE } from './packages.ts';
import { publish, withDraft } from './publish.ts';
import { unpackFlat } from './unpack.ts';

export type FetchTerms = {
  readonly cacheDir: string;
  readonly env: Env;
  readonly progress: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
};

const MOST_MIRRORS = 3;

/**
 * Fetches llama-server from Debian's packages into the cache, without root and without installing anything.
 * What can go wrong outside of us is a result with one line that says why.
 */
export async function fetchLlamaServer(terms: FetchTerms): Promise<FindResult> {
  const needs = await requirements(terms.env);
  if (needs.kind === 'missing') return needs;
  const place = fetchedFolder(terms.cacheDir);
  try {
    return await withDraft(dirname(place), (draft) => fetchInto(place, draft, needs.keyring, terms));
  } catch (error) {
    if (error instanceof Unavailable) return { kind: 'missing', why: error.message };
    const trouble = fileTrouble(error);
    if (trouble !== undefined) return { kind: 'missing', why: `its folder cannot be written: ${trouble}` };
    throw error;
  }
}

type Missing = { readonly kind: 'missing'; readonly why: string };

async function requirements(env: Env): Promise<Missing | { readonly kind: 'met'; readonly keyring: string }> {
  if (platform() !== 'linux' || arch() !== 'x64')
    return { kind: 'missing', why: `there is none to fetch for ${platform()} on ${arch()}` };
  for (const tool of ['apt-get', 'dpkg-deb'])
    if ((await findCommand(tool, env)) === undefined)
      return { kind: 'missing', why: `it cannot be fetched where there is no ${tool}` };
  const keyring = await debianKeyring();
  return keyring === undefined
    ? { kind: 'missing', why: 'it cannot be fetched without the package debian-archive-keyring' }
    : { kind: 'met', keyring };
}

async function fetchInto(place: string, draft: string, keyring: string, terms: FetchTerms): Promise<FindResult> {
  const { env, signal, progress, cacheDir } = terms;
  progress(`fetching llama-server from Debian's packages, about ${LLAMA_SERVER.downloadMb} MB, into ${place}`);
  const debs = await downloadFromAny({ folder: draft, env, signal }, keyring, progress);
  progress(`unpacking ${debs.length} packages`);
  const flat = await unpackFlat({ folder: draft, env, signal }, { debs, set: LLAMA_SERVER, home: place });
  const check = (): Promise<FindResult> => checkLlamaServer(fetchedServer(cacheDir), env, signal);
  await publish(flat, place, draft, async () => (await check()).kind === 'found');
  return check();
}

/** Asks the system's mirrors in turn, and tells the trouble of the likeliest if none has all the packages. */
async function downloadFromAny(
  { folder, ...rest }: Workplace,
  keyring: string,
  progress: (line: string) => void,
): Promise<string[]> {
  const mirrors = await debianMirrors({ folder, ...rest });
  let trouble: Unavailable | undefined;
  for (const [i, mirror] of mirrors.slice(0, MOST_MIRRORS).entries()) {
    progress(`reading the index of Debian ${SUITE} at ${mirror}`);
    try {
      return await downloadPackages(
        { folder: join(folder, `mirror-${i}`), ...rest },
        {
          mirror,
          suite: SUITE,
          keyring,
          packages: LLAMA_SERVER.packages,
          onIndexed: () => progress(`downloading ${LLAMA_SERVER.packages.length} packages`),
        },
      );
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      trouble ??= error;
    }
  }
  throw trouble ?? new Unavailable("apt knows no mirror of Debian's archive; set DEBIAN_MIRROR to the address of one");
}
