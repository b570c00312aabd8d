import { describe, test } from 'vitest';
import { MUTANTS } from './mutants/index.ts';
import { kindOf, withMutant } from './plant.ts';
import { readKills } from './seeds.ts';
import { firstFailure } from './trial.ts';

const AGAIN = 'npm run sim -- --mutants';
/** A change of the core moves what happens in a world: the mutant may show in another one than it did. */
const OTHER_WORLDS = 300;

describe('the simulator notices when a guard of the core is gone', () => {
  const kills = readKills();

  for (const mutant of MUTANTS) {
    test(`${mutant.file}: ${mutant.name}`, async ({ expect }) => {
      const seed = kills.get(mutant.name) ?? 0;
      const failure = await withMutant(
        mutant,
        (core) => firstFailure(seed, 1, kindOf(mutant, core)) ?? firstFailure(0, OTHER_WORLDS, kindOf(mutant, core)),
      );
      expect(failure?.reason, `no world shows it any more; look for one: ${AGAIN}`).toBeDefined();
      expect(failure?.reason, 'the mutant does not even run').not.toMatch(/^\w+Error: /);
    });
  }
});
