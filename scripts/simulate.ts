import { parseArgs } from 'node:util';
import { POLICY_NAMES, type PolicyName } from '../src/core/policy/index.ts';
import { MUTANTS } from '../test/sim/mutants/index.ts';
import { kindOf, withMutant } from '../test/sim/plant.ts';
import { writeKills } from '../test/sim/seeds.ts';
import { explain, firstFailure, tryWorld, type Kind } from '../test/sim/trial.ts';
import { runWorld } from '../test/sim/world.ts';

const USAGE = `Runs the decision code in simulated worlds.

  npm run sim                                  2,000 worlds
  npm run sim -- --seed 7 [--verbose]          one world, with its transcript
  npm run sim -- --seed 0 --count 100000       as many as you like
  npm run sim -- --policy slack --urgency      under another policy; with requests of different urgency
  npm run sim -- --deadlines                   with requests that say how long they wait at the most
  npm run sim -- --losses                      with sleepers that lose what they are to be woken from
  npm run sim -- --extras                      with what the config may switch on besides: requests that come back after a cut,
                                               models that go deeper when they have nothing to do
  npm run sim -- --reloads                     with the config read again and again
  npm run sim -- --policy slack --freezes      with models that may be put away with requests in flight
  npm run sim -- --overlap                     with models that may come in while others still leave
  npm run sim -- --handovers                   with another catnap that takes the engines over now and then
  npm run sim -- --mutants [--count 5000]      takes the guards out of the core, one at a time, and looks for a world that shows it;
                                               writes test/sim/kills.json`;

const say = (line: string): void => console.log(line);

function worlds(from: number, count: number, kind: Kind, verbose: boolean): number {
  let failed = 0;
  for (let seed = from; seed < from + count; seed++) {
    const failure = tryWorld(seed, kind);
    if (failure !== undefined) failed++;
    if (failure !== undefined) say(`${explain(failure, verbose)}\n`);
    else if (verbose) narrate(seed, kind);
  }
  say(`${count} worlds, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

function narrate(seed: number, kind: Kind): void {
  const { ends, swaps, simulatedMs } = runWorld(seed, { ...kind, say });
  const counts = [...ends].map(([end, count]) => `${count} ${end}`);
  say(`seed ${seed}: ${swaps} swaps in ${Math.round(simulatedMs / 1_000)} s; ${counts.join(', ')}`);
}

async function mutants(count: number): Promise<number> {
  const kills = new Map<string, number>();
  for (const mutant of MUTANTS) {
    const failure = await withMutant(mutant, (core) => firstFailure(0, count, kindOf(mutant, core)));
    if (failure !== undefined) kills.set(mutant.name, failure.seed);
    const shown = failure === undefined ? 'never shows' : `seed ${failure.seed}`;
    say(`${shown.padEnd(12)} ${mutant.file.padEnd(15)} ${mutant.name}: ${failure?.reason ?? ''}`);
  }
  writeKills(kills);
  say(`${MUTANTS.length} mutants, ${MUTANTS.length - kills.size} never showed in ${count} worlds`);
  return kills.size < MUTANTS.length ? 1 : 0;
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`${option} takes a whole number, not "${text}"`);
}

function policyNamed(text: string): PolicyName {
  const name = POLICY_NAMES.find((other) => other === text);
  if (name === undefined) throw new Error(`--policy takes ${POLICY_NAMES.join(', ')}, not "${text}"`);
  return name;
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    count: { type: 'string' },
    policy: { type: 'string', default: 'fifo' },
    urgency: { type: 'boolean', default: false },
    deadlines: { type: 'boolean', default: false },
    losses: { type: 'boolean', default: false },
    extras: { type: 'boolean', default: false },
    reloads: { type: 'boolean', default: false },
    freezes: { type: 'boolean', default: false },
    overlap: { type: 'boolean', default: false },
    handovers: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const many = values.mutants ? '10000' : values.seed === undefined ? '2000' : '1';
const from = wholeNumber('--seed', values.seed ?? '0');
const count = wholeNumber('--count', values.count ?? many);
if (values.help) say(USAGE);
else if (values.mutants) process.exitCode = await mutants(count);
else {
  const { urgency, deadlines, losses, extras, reloads, freezes, overlap, handovers } = values;
  const kind = {
    policy: policyNamed(values.policy),
    urgency,
    deadlines,
    losses,
    extras,
    reloads,
    freezes,
    overlap,
    handovers,
  };
  process.exitCode = worlds(from, count, kind, values.verbose);
}
