import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Logs of engines that are no longer configured stay this long, and no more than this many engines' at all. */
const KEPT_DAYS = 30;
const KEPT_ENGINES = 200;

/** Removes the logs of engines that have not printed for long. Files that are no logs of ours are let be. */
export async function dropOldLogs(folder: string): Promise<void> {
  const engines = new Map<string, { paths: string[]; lastAt: number }>();
  for (const name of await readdir(folder)) {
    const base = /^(.+\.[0-9a-f]{8})\.log(\.\d+)?$/.exec(name)?.[1];
    if (base === undefined) continue;
    const path = join(folder, name);
    const at = (await stat(path)).mtimeMs;
    const { paths, lastAt } = engines.get(base) ?? { paths: [], lastAt: 0 };
    engines.set(base, { paths: [...paths, path], lastAt: Math.max(at, lastAt) });
  }
  const oldest = Date.now() - KEPT_DAYS * 86_400_000;
  const newestFirst = [...engines.values()].toSorted((a, b) => b.lastAt - a.lastAt);
  const old = newestFirst.filter(({ lastAt }, index) => index >= KEPT_ENGINES || lastAt < oldest);
  await Promise.all(old.flatMap(({ paths }) => paths).map((path) => rm(path, { force: true })));
}
