import { readdir, readFile, readlink, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/**
 * An open file that was removed where it lay, and has another name elsewhere, goes to disk by a name that criu gives it for the
 * time: a hard link in the folder where it lay. A return takes that away again; an image that is thrown away would leave it.
 */
const Remaps = z.array(z.strictObject({ folder: z.string(), inode: z.string() }));
type Remaps = z.infer<typeof Remaps>;

/** Lies in the image, from before anything is written. */
const REMAPS = 'catnap-remaps.json';
const GIVEN = /^link_remap\.\d+$/;
const GONE = ' (deleted)';

/** Writes down which links criu may make for these processes. */
export async function noteRemaps(image: string, pids: readonly number[]): Promise<void> {
  const found = (await Promise.all(pids.map((pid) => removedFilesOf(pid)))).flat();
  const remaps = [...new Map(found.map((each) => [`${each.inode} ${each.folder}`, each])).values()];
  if (remaps.length > 0) await writeFile(join(image, REMAPS), JSON.stringify(remaps), { mode: 0o600 });
}

/** Takes away those that are still there. What lies in those folders under other names, or is another file, is let be. */
export async function removeRemaps(image: string): Promise<void> {
  const text = await readFile(join(image, REMAPS), 'utf8').catch(() => '[]');
  for (const { folder, inode } of Remaps.catch([]).parse(jsonOf(text))) {
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name);
      if (GIVEN.test(name) && (await inodeOf(path)) === inode) await unlink(path).catch(() => undefined); // it has gone by itself
    }
  }
}

/** What it has open or mapped that lies nowhere any more under the name it had. */
async function removedFilesOf(pid: number): Promise<Remaps> {
  const fds = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const open = fds.map(async (fd) => {
    const file = `/proc/${pid}/fd/${fd}`;
    const path = await readlink(file).catch(() => '');
    const inode = path.startsWith('/') && path.endsWith(GONE) ? await inodeOf(file) : undefined;
    return inode === undefined ? [] : [{ folder: dirname(path), inode }];
  });
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8').catch(() => '');
  const mapped = maps.split('\n').flatMap((line) => {
    const [, inode = '', path = ''] = /^\S+ \S+ \S+ \S+ (\d+) +(\/.*) \(deleted\)$/.exec(line) ?? [];
    return path === '' ? [] : [{ folder: dirname(path), inode }];
  });
  return [...(await Promise.all(open)).flat(), ...mapped];
}

const inodeOf = (path: string): Promise<string | undefined> =>
  stat(path, { bigint: true }).then(
    ({ ino }) => String(ino),
    () => undefined,
  );

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
