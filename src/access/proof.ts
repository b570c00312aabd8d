import { hash, randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { parseKeyHash, type KeyHash } from '../config/key-hash.ts';
import type { KeyConfig } from '../config/schema.ts';
import { invariant } from '../core/kinds.ts';

/** What proves a key. A `digest` is compared at once; a slow one has to be worked for. */
export type Proof =
  | { readonly kind: 'digest'; readonly digest: Buffer }
  | { readonly kind: 'slow'; readonly fits: (token: string) => Promise<boolean> };

export function proofOf({ secret }: KeyConfig): Proof {
  const text = secret.value.reveal();
  if (secret.kind === 'plain') return { kind: 'digest', digest: digestOf(text) };
  const parsed = parseKeyHash(text);
  invariant(parsed !== undefined, 'the config lets no other hashes in');
  if (parsed.kind === 'sha256') return { kind: 'digest', digest: Buffer.from(parsed.hex, 'hex') };
  return { kind: 'slow', fits: (token) => fitsSlowly(token, parsed) };
}

/** One pass, so that the time to compare says nothing about a key. */
export const digestOf = (token: string): Buffer => hash('sha256', token, 'buffer');

async function fitsSlowly(token: string, { salt, hash: wanted, ...work }: SlowHash): Promise<boolean> {
  const derived = await stretch(token, Buffer.from(salt, 'base64url'), work);
  return timingSafeEqual(derived, Buffer.from(wanted, 'base64url'));
}

type SlowHash = Extract<KeyHash, { readonly kind: 'scrypt' }>;
type Work = Pick<SlowHash, 'cost' | 'blocks' | 'parallel'>;

/** 32 bytes of scrypt, made beside the event loop. */
function stretch(token: string, salt: Buffer, { cost, blocks, parallel }: Work): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const options: ScryptOptions = { N: cost, r: blocks, p: parallel, maxmem: 256 * cost * blocks };
  scrypt(token, salt, 32, options, (error, derived) => (error === null ? resolve(derived) : reject(error)));
  return promise;
}

/** What a new slow hash costs: 32 MiB and some 60 ms. */
const WORK: Work = { cost: 32_768, blocks: 8, parallel: 1 };

/** A key that nobody can guess, so that a fast hash is enough. */
export const makeKey = (): string => `catnap_${randomBytes(32).toString('base64url')}`;

/** The hash of a key that was made by chance, as the config wants it. */
export const fastHash = (key: string): string => `sha256:${digestOf(key).toString('hex')}`;

/** The hash of a key that somebody chose. */
export async function slowHash(key: string): Promise<string> {
  const salt = randomBytes(16);
  const derived = await stretch(key, salt, WORK);
  const { cost, blocks, parallel } = WORK;
  return `scrypt:${cost}:${blocks}:${parallel}:${salt.toString('base64url')}:${derived.toString('base64url')}`;
}
