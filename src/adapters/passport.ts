import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Beside an image that outlives its catnap. Without it an image is removed at the next start. */
export const PASSPORT = 'kept.json';

const Passport = z.object({
  version: z.literal(1),
  /** A name for all that has to be the same. */
  key: z.string(),
  prepared: z.boolean(),
  /** What was in the folder. */
  listing: z.string(),
  bytes: z.number().min(0),
  before: z.object({
    slept: z.boolean(),
    sample: z.string().nullable(),
    gpu: z
      .object({ pids: z.array(z.int().min(2)).readonly(), needs: z.record(z.string(), z.number().min(0)).readonly() })
      .nullable(),
  }),
});
export type PassportOnDisk = z.infer<typeof Passport>;

/** The file is whole or not there, whenever we are killed. */
export async function writePassport(folder: string, passport: Omit<PassportOnDisk, 'version'>): Promise<void> {
  const path = join(folder, PASSPORT);
  await writeFile(`${path}.part`, `${JSON.stringify({ version: 1, ...passport })}\n`, { mode: 0o600 });
  await rename(`${path}.part`, path);
}

/** Undefined when there is none, or none that can be read. */
export async function readPassport(folder: string): Promise<PassportOnDisk | undefined> {
  const text = await readFile(join(folder, PASSPORT), 'utf8').catch(() => '');
  try {
    return Passport.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export async function withdrawPassport(folder: string): Promise<void> {
  await rm(join(folder, PASSPORT), { force: true });
}

/** When it was last of use, in milliseconds. */
export async function lastUseOf(folder: string): Promise<number> {
  return (await stat(join(folder, PASSPORT)).catch(() => undefined))?.mtimeMs ?? 0;
}

export async function noteUse(folder: string): Promise<void> {
  const now = new Date();
  await utimes(join(folder, PASSPORT), now, now).catch(() => {});
}
