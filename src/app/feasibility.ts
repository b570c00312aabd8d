import type { Config } from '../config/schema.ts';
import type { StageOptions } from '../core/stage-events.ts';
import { sharedRoom } from '../core/cast.ts';
import { Costs } from '../core/costs.ts';
import { ms } from './times.ts';

/** The same for each stage that it is true of. */
export const waitsNotToBeKept = (
  stages: readonly { readonly options: StageOptions }[],
  policy: Config['policy'],
): readonly string[] => stages.flatMap(({ options }) => waitNotToBeKept(options, policy) ?? []);

/**
 * Whether the wait that the policy plans by can be kept when every model is in demand: each waits for the swaps of all others. Reckoned with
 * what is known of them; what is not known yet takes no time. A sentence that says what to change, or undefined.
 */
export function waitNotToBeKept(
  { models, capacity }: Pick<StageOptions, 'models' | 'capacity'>,
  { policy_type, max_wait_secs }: Pick<Config['policy'], 'policy_type' | 'max_wait_secs'>,
): string | undefined {
  const maxWaitMs = ms(max_wait_secs);
  if (policy_type === 'fifo') return undefined;
  const sharing = models.filter(({ cost, keep }) => cost > 0 && keep !== true);
  const needed = sharing.reduce((sum, { cost }) => sum + cost, 0);
  if (needed <= sharedRoom({ models, capacity })) return undefined;
  let roundMs = 0;
  for (const { costs: saved, sleepLevel } of sharing) {
    const costs = new Costs(saved);
    if (costs.come(sleepLevel) !== undefined)
      roundMs += costs.comeMs(sleepLevel) + costs.goMs(sleepLevel) + costs.drainMs;
  }
  if (roundMs < maxWaitMs) return undefined;
  const secs = (time: number): string => String(Math.ceil(time / 1_000));
  return (
    `policy.max_wait_secs is ${max_wait_secs}, and one round of swaps through the ${sharing.length} models that share the hardware takes about ` +
    `${secs(roundMs)} s by what was seen so far: with all of them in demand nobody can be promised that wait. ` +
    `Set it to more than ${secs(roundMs * 1.25)}, use a sleep level that is quicker, or serve fewer models here`
  );
}
