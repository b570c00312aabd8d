import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { engineFileName } from './engine-file-name.ts';
import { isMissing } from './system-error.ts';

const ProcessId = z.object({ pid: z.int().min(2), started: z.int().min(0) });

const EngineRecord = z.object({
  version: z.literal(1),
  engine: z.string(),
  model: z.string(),
  port: z.int(),
  /** In the environment of everything that stems from this start. */
  mark: z.string().regex(/^[0-9a-f]{32}$/),
  boot: z.string(),
  namespace: z.string(),
  /** Who started it. */
  catnap: z.object({ pid: z.int().min(1), started: z.int().min(0) }),
  /** Null from before the start until right after it: then only the mark leads to the process. */
  leader: ProcessId.nullable(),
});
export type EngineRecord = z.infer<typeof EngineRecord>;

/** The record of one start. */
export interface Entry {
  readonly record: EngineRecord;
  complete(leader: EngineRecord['leader']): Promise<void>;
  remove(): Promise<void>;
}

/** So many unreadable records are kept for a person to look at. */
const SET_ASIDE = 10;

/**
 * What we started and have not yet proven gone: one small file each, which outlives us.
 * A record is written before its process is started and completed after, so that there is no moment at which our
 * death would leave a process that nothing on disk leads to.
 */
export class Registry {
  readonly #folder: string;
  readonly #onProblem: (message: string) => void;

  constructor(folder: string, onProblem: (message: string) => void) {
    this.#folder = folder;
    this.#onProblem = onProblem;
  }

  async add(record: EngineRecord): Promise<Entry> {
    const path = join(this.#folder, `${engineFileName(record.engine)}.${record.mark.slice(0, 8)}.json`);
    await write(path, record);
    return entry(path, record);
  }

  /** Every record that can be read. One that cannot is set aside and told, and stops nobody. */
  async entries(): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    for (const name of (await readdir(this.#folder)).toSorted()) {
      const path = join(this.#folder, name);
      if (name.endsWith('.part')) await rm(path, { force: true });
      if (!name.endsWith('.json')) continue;
      const record = await this.#read(path);
      if (record !== undefined) entries.push(entry(path, record));
    }
    return entries;
  }

  async #read(path: string): Promise<EngineRecord | undefined> {
    try {
      return EngineRecord.parse(JSON.parse(await readFile(path, 'utf8')));
    } catch (error) {
      if (isMissing(error)) return undefined;
      const why = error instanceof z.ZodError ? z.prettifyError(error).replaceAll('\n', ' ') : String(error);
      const aside = `${path}.unreadable`;
      await rename(path, aside);
      await this.#forgetOldest();
      this.#onProblem(`the record of a started engine cannot be read and was set aside as ${aside}: ${why}`);
      return undefined;
    }
  }

  async #forgetOldest(): Promise<void> {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith('.unreadable'));
    const paths = names.map((name) => join(this.#folder, name));
    const dated = await Promise.all(paths.map(async (path) => ({ path, at: (await stat(path)).mtimeMs })));
    const old = dated.toSorted((a, b) => b.at - a.at).slice(SET_ASIDE);
    await Promise.all(old.map(({ path }) => rm(path, { force: true })));
  }
}

function entry(path: string, record: EngineRecord): Entry {
  return {
    record,
    complete: (leader) => write(path, { ...record, leader }),
    remove: () => rm(path, { force: true }),
  };
}

/** The file is whole or not there, whenever we are killed. */
async function write(path: string, record: EngineRecord): Promise<void> {
  const part = `${path}.${randomBytes(4).toString('hex')}.part`;
  await writeFile(part, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  await rename(part, path);
}
