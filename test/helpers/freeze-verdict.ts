import { openProcesses } from '../../src/adapters/processes.ts';
import { systemPrograms } from '../../src/adapters/programs.ts';
import { driverOf, identityOf } from '../../src/app/identity.ts';
import { bookIn } from '../../src/app/verdicts.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import { stateDir, type Catnap } from './catnap.ts';
import { goodConfig } from './config.ts';
import type { Lab } from './lab.ts';
import { waitFor } from './wait-for.ts';

/** As if a validation had passed this level with a stream open. */
export async function passedOpen(
  { model, level }: { readonly model: string; readonly level: '3f' | '4f' },
  config: ConfigInput,
  lab: Lab,
  folder: string,
): Promise<void> {
  const whole = goodConfig({ ...config, state_dir: stateDir(folder) });
  const settings = whole.models[model];
  if (settings === undefined) throw new Error(`there is no ${model}`);
  const onProblem = (message: string): never => {
    throw new Error(message);
  };
  const processes = await openProcesses({ stateDir: stateDir(folder), logMaxBytes: 4_096, onProblem });
  const means = { programs: systemPrograms({ ...process.env, ...lab.env }), processes };
  const identity = { ...(await identityOf(settings, await driverOf(whole, means), means)), version: undefined };
  await bookIn(whole, onProblem).add([{ model, level, passed: true, reason: '', at: new Date(), identity }]);
  await processes.close();
}

/**
 * Waits until alpha, which has just come back from where beta had put it, has been on for long enough to be suspended: for longer than the
 * swaps to beta and back have taken.
 */
export async function onForLong(catnap: Catnap): Promise<void> {
  const from = performance.now();
  const [away, back] = [
    await catnap.fact('swap-finished', { to: 'beta' }),
    await catnap.fact('swap-finished', { to: 'alpha' }, 2),
  ];
  const swapsMs = Number(away['totalMs']) + Number(back['totalMs']);
  await waitFor('it to have been on for a while', () => performance.now() - from > swapsMs, { within: 120_000 });
}
