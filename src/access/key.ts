import type { KeyConfig } from '../config/schema.ts';
import { fitsPattern } from '../config/wildcard.ts';
import type { ModelId } from '../core/kinds.ts';
import type { Priority } from '../core/place.ts';
import type { Clock } from '../ports/clock.ts';
import { Allowance, type AllowanceTerms } from './allowance.ts';

/** Whether somebody may ask for a model under the name he wrote. */
export type MayUse = (name: string, model: ModelId) => boolean;

/** How its requests wait for their turn. */
export type Waiting = {
  /** Whether a model may be woken for them. */
  readonly maySwap: boolean;
  /** How urgent they are, at most and where they do not say; undefined: as urgent as everybody's. */
  readonly priority: Priority | undefined;
};

/** Without a key, or with one that says nothing of it. */
export const AS_ALL_DO: Waiting = { maySwap: true, priority: undefined };

/** One key of the config: whose it is, and what it opens. Its secret is the keyring's alone. */
export class Key {
  readonly name: string;
  readonly infers: boolean;
  readonly steers: boolean;
  readonly waiting: Waiting;
  readonly allowance: Allowance;
  readonly #limits: AllowanceTerms;
  /** Undefined: every model. */
  readonly mayUse: MayUse | undefined;

  /** `before`: the key of this name in an earlier config, whose requests may still be open. */
  constructor(config: KeyConfig, clock: Clock, before?: Key) {
    const { name, infer, admin, may_swap, priority, models, max_in_flight, requests_per_second, burst } = config;
    this.name = name;
    this.infers = infer;
    this.steers = admin;
    this.waiting = { maySwap: may_swap, priority };
    const terms = { name, maxInFlight: max_in_flight, perSecond: requests_per_second, burst };
    this.#limits = terms;
    this.allowance = before?.allowance ?? new Allowance(terms, clock);
    const fits = (text: string): boolean => models.some((pattern) => fitsPattern(pattern, text));
    this.mayUse = models.includes('*') ? undefined : (written, model) => fits(model) || fits(written);
  }
  /** Its limits hold from now on. */
  open(): void {
    this.allowance.revise(this.#limits);
  }
}
