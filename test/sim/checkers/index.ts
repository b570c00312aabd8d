import { AnswersChecker } from './answers.ts';
import { BudgetChecker } from './budget.ts';
import type { Checker, Scene } from './checker.ts';
import { DeadlinesChecker } from './deadlines.ts';
import { DemotionChecker } from './demotion.ts';
import { DoorsChecker } from './doors.ts';
import { EnginesChecker } from './engines.ts';
import { FairnessChecker } from './fairness.ts';
import { FrozenChecker } from './frozen.ts';
import { HostMemoryChecker } from './host-memory.ts';
import { LeisureChecker } from './leisure.ts';
import { LoadsChecker } from './loads.ts';
import { MemoryChecker } from './memory.ts';
import { MoreRoomChecker } from './more-room.ts';
import { OvertakingChecker } from './overtaking.ts';
import { PatienceChecker } from './patience.ts';
import { ProgressChecker } from './progress.ts';
import { RestChecker } from './rest.ts';
import { RevisionChecker } from './revision.ts';
import { SwapsChecker } from './swaps.ts';

import { WakesChecker } from './wakes.ts';

/** Every promise that is watched in every world. */
export const allCheckers = (scene: Scene): readonly Checker[] => [
  new BudgetChecker(scene),
  new DeadlinesChecker(scene),
  new DemotionChecker(scene),
  new DoorsChecker(scene),
  new EnginesChecker(scene),
  new FrozenChecker(scene),
  new HostMemoryChecker(scene),
  new MemoryChecker(scene),
  new MoreRoomChecker(scene),
  new OvertakingChecker(scene),
  new PatienceChecker(scene),
  new FairnessChecker(scene),
  new LoadsChecker(scene),
  new ProgressChecker(scene),
  new AnswersChecker(scene),
  new LeisureChecker(scene),
  new SwapsChecker(scene),
  new WakesChecker(scene),
  new RestChecker(scene),
  new RevisionChecker(scene),
];
