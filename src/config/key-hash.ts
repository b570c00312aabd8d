/** A hash of a key, taken apart. `sha256` is for keys made by chance; `scrypt` makes those that people choose slow to guess. */
export type KeyHash =
  | { readonly kind: 'sha256'; readonly hex: string }
  | {
      readonly kind: 'scrypt';
      /** How much work it is: memory is 128 * cost * blocks bytes. */
      readonly cost: number;
      readonly blocks: number;
      readonly parallel: number;
      readonly salt: string;
      readonly hash: string;
    };

const SHA256 = /^sha256:([0-9a-f]{64})$/;
/** `scrypt:COST:BLOCKS:PARALLEL:SALT:HASH`, the last two in base64url. */
const SCRYPT = /^scrypt:(\d{1,6}):(\d{1,2}):(\d):([A-Za-z0-9_-]{16,128}):([A-Za-z0-9_-]{43})$/;
/** One check may take this much memory. */
const MOST_BYTES = 128 * 1_048_576;

/** Undefined for what is no hash of ours, or one that would take too much to check. */
export function parseKeyHash(text: string): KeyHash | undefined {
  const [, hex] = SHA256.exec(text) ?? [];
  if (hex !== undefined) return { kind: 'sha256', hex };
  const [, cost, blocks, parallel, salt, hash] = SCRYPT.exec(text) ?? [];
  if (salt === undefined || hash === undefined) return undefined;
  const work = { cost: Number(cost), blocks: Number(blocks), parallel: Number(parallel) };
  return isBounded(work) ? { kind: 'scrypt', ...work, salt, hash } : undefined;
}

type Work = { readonly cost: number; readonly blocks: number; readonly parallel: number };

function isBounded({ cost, blocks, parallel }: Work): boolean {
  const powerOfTwo = cost >= 1_024 && (cost & (cost - 1)) === 0;
  return powerOfTwo && blocks >= 1 && parallel >= 1 && parallel <= 4 && 128 * cost * blocks <= MOST_BYTES;
}
