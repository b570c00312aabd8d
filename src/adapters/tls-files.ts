import { X509Certificate, createPrivateKey, type KeyObject } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { after } from '../core/kinds.ts';
import type { Cancel, Clock } from '../ports/clock.ts';

export type TlsFiles = { readonly cert: string; readonly key: string };
/** A certificate and its key, both in PEM, that fit each other. */
export type TlsPair = { readonly cert: string; readonly key: string };

/** No certificate is larger. */
const MOST_BYTES = 1_048_576;

/** Rejects with a message that names the file and what is wrong with it. */
export async function readTlsPair({ cert, key }: TlsFiles): Promise<TlsPair> {
  const pair = { cert: await readText('tls.cert', cert), key: await readText('tls.key', key) };
  const certificate = attempt('tls.cert', cert, 'holds no certificate in PEM', () => new X509Certificate(pair.cert));
  const secret = attempt('tls.key', key, 'holds no private key in PEM', (): KeyObject => createPrivateKey(pair.key));
  if (!certificate.checkPrivateKey(secret)) {
    throw new Error(`tls.key (${key}) is not the key of the certificate in tls.cert (${cert})`);
  }
  attempt('tls.cert', cert, 'cannot be used', () => createSecureContext(pair));
  return pair;
}

async function readText(name: string, file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > MOST_BYTES) throw new Error('it is larger than any certificate');
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Error(`${name} (${file}) cannot be read: ${reason(error)}`, { cause: error });
  }
}

/** What the library says of a key is left out: it might quote it. */
function attempt<T>(name: string, file: string, wrong: string, make: () => T): T {
  try {
    return make();
  } catch {
    throw new Error(`${name} (${file}) ${wrong}`);
  }
}

export type Watching = {
  readonly everyMs: number;
  readonly clock: Clock;
  readonly changed: (pair: TlsPair) => void;
  /** Told once for each change that cannot be used. */
  readonly failed: (why: string) => void;
};

/** Looks now and then whether the files have changed, which also sees links that are turned. */
export function watchTlsFiles(files: TlsFiles, { everyMs, clock, changed, failed }: Watching): Cancel {
  let known: string | undefined;
  let cancel: Cancel = () => {};
  let stopped = false;
  const look = async (): Promise<void> => {
    const mark = await markOf(files);
    if (known !== undefined && mark !== known && !stopped) {
      await readTlsPair(files).then(changed, (error: unknown) => failed(reason(error)));
    }
    known = mark;
    if (!stopped) cancel = clock.at(after(clock.now(), everyMs), () => void look());
  };
  void look();
  return () => {
    stopped = true;
    cancel();
  };
}

async function markOf({ cert, key }: TlsFiles): Promise<string> {
  const marks = await Promise.all(
    [cert, key].map((file) =>
      stat(file).then(
        ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
        () => 'gone',
      ),
    ),
  );
  return marks.join(', ');
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
