import { describe, test } from 'vitest';
import { defaultEngineRules } from '../../../src/core/engine.ts';
import type { Fact } from '../../../src/core/facts.ts';
import { engineId, modelId, type NapLevel } from '../../../src/core/kinds.ts';
import { EngineActor, type ResidentBytes } from '../../../src/runtime/engine-actor.ts';
import { settled, VirtualClock } from '../../helpers/virtual-clock.ts';
import { ScriptedDriver } from './scripted-driver.ts';

const model = modelId('a');

/** An engine that is put to sleep at this level. Gives what was measured of it then, and what was told. */
async function sleepAt(level: NapLevel, residentBytes: ResidentBytes) {
  const measured: (number | undefined)[] = [];
  const facts: Fact[] = [];
  const drivers: ScriptedDriver[] = [];
  const actor = new EngineActor({
    id: engineId(model, 0),
    model,
    rules: { ...defaultEngineRules, naps: [level] },
    clock: new VirtualClock(),
    reporter: { report: (fact) => facts.push(fact) },
    makeDriver: (events) => {
      const driver = new ScriptedDriver(events);
      driver.members = () => Promise.resolve([41, 42]);
      drivers.push(driver);
      return driver;
    },
    residentBytes,
    moved: ({ kind }, took) => {
      if (kind === 'asleep') measured.push(took?.hostMib);
    },
  });
  for (const goal of [{ kind: 'awake' } as const, { kind: 'asleep', level } as const]) {
    actor.setGoal(goal, false);
    await settled();
    drivers[0]?.succeed();
    await settled();
  }
  return { measured, warned: facts.flatMap((fact) => (fact.kind === 'warned' ? [fact.message] : [])) };
}

describe('what a sleeper holds in host memory', () => {
  test.for([1, 3, 'hybrid'] as const)('is measured of all its processes at level %s', async (level, { expect }) => {
    const { measured } = await sleepAt(level, (pids) => Promise.resolve(pids.length * 1_048_577));
    expect(measured).toEqual([3]);
  });

  test.for([2, 4] as const)('is not looked at where level %s keeps nothing there', async (level, { expect }) => {
    const { measured } = await sleepAt(level, () => Promise.reject(new Error('nobody asks')));
    expect(measured).toEqual([undefined]);
  });

  test('and cannot be measured is told, and the sleep counts', async ({ expect }) => {
    const { measured, warned } = await sleepAt(1, () => Promise.reject(new Error('no /proc')));
    expect(measured).toEqual([undefined]);
    expect(warned).toEqual(['a#0: what it holds in host memory cannot be measured: no /proc']);
  });
});
