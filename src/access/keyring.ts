import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import PQueue from 'p-queue';
import type { KeyConfig } from '../config/schema.ts';
import type { Clock } from '../ports/clock.ts';
import { Key } from './key.ts';
import { digestOf, proofOf } from './proof.ts';

/** How many tokens are worked on at a time, and how many may wait for that. Guessing must not eat the machine. */
const AT_WORK = 2;
const MOST_WAITING = 64;
/** How many wrong tokens are remembered, so that a client that repeats one costs nothing. */
const MOST_WRONG = 1_000;

/** `busy`: so many unknown tokens are being checked that this one was not. */
export type Found = Key | undefined | 'busy';

type Digested = { readonly key: Key; readonly digest: Buffer };
type Slow = { readonly key: Key; readonly fits: (token: string) => Promise<boolean> };

/**
 * The keys of the config. A token that was seen before is found by one hash with a secret of this process in it, so that nobody outside
 * knows what is compared; a new one is compared with every key, in constant time.
 */
export class Keyring {
  readonly keys: readonly Key[];
  readonly #pepper = randomBytes(32).toString('base64');
  readonly #digested: readonly Digested[];
  readonly #slow: readonly Slow[];
  /** By mark. Not more than there are keys. */
  readonly #right = new Map<string, Key>();
  readonly #wrong = new Set<string>();
  readonly #atWork = new Map<string, Promise<Key | undefined>>();
  readonly #queue = new PQueue({ concurrency: AT_WORK });

  constructor(configs: readonly KeyConfig[], clock: Clock, before: readonly Key[] = []) {
    const known = new Map(before.map((key) => [key.name, key]));
    const keys = configs.map((config) => ({
      key: new Key(config, clock, known.get(config.name)),
      proof: proofOf(config),
    }));
    this.keys = keys.map(({ key }) => key);
    this.#digested = keys.flatMap(({ key, proof }) => (proof.kind === 'digest' ? [{ key, digest: proof.digest }] : []));
    this.#slow = keys.flatMap(({ key, proof }) => (proof.kind === 'slow' ? [{ key, fits: proof.fits }] : []));
  }

  open(): void {
    for (const key of this.keys) key.open();
  }

  /** Whose token it is. Only keys that people chose take time, and only the first time. */
  find(token: string): Found | Promise<Found> {
    const mark = hash('sha256', this.#pepper + token, 'base64');
    const known = this.#right.get(mark);
    if (known !== undefined) return known;
    if (this.#wrong.has(mark)) return undefined;
    const found = this.#compare(token);
    if (found !== undefined || this.#slow.length === 0) return this.#remember(mark, found);
    return this.#work(mark, token);
  }

  /** Looks at every key, whether one has fitted or not. */
  #compare(token: string): Key | undefined {
    const digest = digestOf(token);
    let found: Key | undefined;
    for (const each of this.#digested) if (timingSafeEqual(digest, each.digest)) found = each.key;
    return found;
  }

  #work(mark: string, token: string): Promise<Found> | 'busy' {
    const begun = this.#atWork.get(mark);
    if (begun !== undefined) return begun;
    if (this.#queue.size >= MOST_WAITING) return 'busy';
    const work = this.#queue
      .add(() => this.#try(token))
      .then((found) => this.#remember(mark, found))
      .finally(() => this.#atWork.delete(mark));
    this.#atWork.set(mark, work);
    return work;
  }

  async #try(token: string): Promise<Key | undefined> {
    let found: Key | undefined;
    for (const { key, fits } of this.#slow) if (await fits(token)) found = key;
    return found;
  }

  #remember(mark: string, found: Key | undefined): Key | undefined {
    if (found !== undefined) this.#right.set(mark, found);
    else {
      this.#wrong.add(mark);
      const [oldest] = this.#wrong;
      if (this.#wrong.size > MOST_WRONG && oldest !== undefined) this.#wrong.delete(oldest);
    }
    return found;
  }
}
