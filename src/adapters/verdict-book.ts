import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { SeenMib, Verdict, VerdictBook } from '../ports/verdicts.ts';
import { isMissing } from './system-error.ts';

const Seen = z.object({ gpu: z.int().min(0).optional(), host: z.int().min(0).optional() });

const Stored = z.object({
  model: z.string(),
  level: z.union([z.literal([1, 2, 3, 4, 5]), z.literal(['hybrid', '4full', '3f', '4f'])]),
  passed: z.boolean(),
  reason: z.string(),
  at: z.iso.datetime(),
  held: z.object({ awake: Seen, asleep: Seen }).optional(),
  identity: z.object({
    backend: z.string(),
    settings: z.string(),
    program: z.string().optional(),
    version: z.string().optional(),
    driver: z.string().optional(),
  }),
});
const Book = z.object({ version: z.literal(1), verdicts: z.array(Stored) });

/** So many are kept, the newest; a book of them stays far below the size that is read. */
const MOST = 500;
const LONGEST_REASON = 500;
const LARGEST_FILE = 4 * 1_048_576;

/** One file that is whole or not there, whenever we are killed. Whoever writes holds the lock of the folder it lies in. */
export function verdictBook(path: string, onProblem: (message: string) => void): VerdictBook {
  const read = async (): Promise<readonly Verdict[]> => {
    try {
      const { size } = await stat(path);
      if (size > LARGEST_FILE) throw new Error(`it has ${size} bytes`);
      const { verdicts } = Book.parse(JSON.parse(await readFile(path, 'utf8')));
      return verdicts.map(verdictOf);
    } catch (error) {
      if (isMissing(error)) return [];
      await setAside(path, error, onProblem);
      return [];
    }
  };
  return {
    read,
    async add(verdicts) {
      const before = await read();
      const kept = before.filter((old) => !verdicts.some((one) => isSame(one, old)));
      const all = [...kept, ...verdicts].toSorted((a, b) => a.at.getTime() - b.at.getTime()).slice(-MOST);
      await write(path, { version: 1, verdicts: all.map(storedOf) });
    },
  };
}

async function setAside(path: string, error: unknown, onProblem: (message: string) => void): Promise<void> {
  const why = error instanceof z.ZodError ? z.prettifyError(error).replaceAll('\n', ' ') : String(error);
  const aside = `${path}.unreadable`;
  try {
    await rename(path, aside);
    onProblem(`the verdicts of earlier validations cannot be read and were set aside as ${aside}: ${why}`);
  } catch (renaming) {
    onProblem(
      `the verdicts of earlier validations in ${path} cannot be read: ${why}; nor set aside: ${String(renaming)}`,
    );
  }
}

async function write(path: string, book: z.input<typeof Book>): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const part = `${path}.${randomBytes(4).toString('hex')}.part`;
  try {
    await writeFile(part, `${JSON.stringify(book, undefined, 1)}\n`, { mode: 0o600 });
    const file = await open(part, 'r+');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}

const isSame = (a: Verdict, b: Verdict): boolean =>
  a.model === b.model && a.level === b.level && identityText(a) === identityText(b);

const identityText = ({ identity: { backend, settings, program, version, driver } }: Verdict): string =>
  JSON.stringify([backend, settings, program, version, driver]);

const storedOf = ({ at, reason, ...rest }: Verdict): z.input<typeof Stored> => ({
  ...rest,
  reason: reason.slice(0, LONGEST_REASON),
  at: at.toISOString(),
});

const seenOf = ({ gpu, host }: z.output<typeof Seen>): SeenMib => ({ gpu, host });

const verdictOf = ({ at, identity, held, ...rest }: z.output<typeof Stored>): Verdict => {
  const { backend, settings, program, version, driver } = identity;
  const seen = held && { held: { awake: seenOf(held.awake), asleep: seenOf(held.asleep) } };
  return { ...rest, at: new Date(at), ...seen, identity: { backend, settings, program, version, driver } };
};
