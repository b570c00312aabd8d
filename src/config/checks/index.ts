import { type Check } from './check.ts';
import { commandsComplete, flagsAreOurs } from './commands.ts';
import { demoteAllowed, demoteByTheEnd, demoteDescends, demoteNever } from './demote.ts';
import { publicHost, remoteIsNotUs } from './exposure.ts';
import { hooksMakeSense } from './hooks.ts';
import { keyFitsNothing, keyHasNoRight, keysClash } from './keys.ts';
import { allowedImpossible, levelImpossible, levelNotAllowed, levelNotYet, policyLevelUnused } from './levels.ts';
import { aliasesClash, aliasesLead, defaultModelIsThere, idleTargetIsThere, preloadsLead, someModel } from './names.ts';
import { portsClash, replicasFit, replicasNeedPorts } from './ports.ts';
import { devicesAreOfTheStage, footprintUnused, modelsHaveRoom, stagesLead, stagesMakeSense } from './room.ts';
import { impossibleModelTimes, impossibleTimes } from './times.ts';
import { allDisabled, stallNeverSeen, unusedKeys, warmupNeverDone } from './unused.ts';

/** What makes a config unusable although every key of it is right. */
export const CHECKS: readonly Check[] = [
  someModel,
  aliasesClash,
  aliasesLead,
  preloadsLead,
  defaultModelIsThere,
  idleTargetIsThere,
  portsClash,
  replicasFit,
  replicasNeedPorts,
  stagesMakeSense,
  stagesLead,
  devicesAreOfTheStage,
  modelsHaveRoom,
  impossibleTimes,
  impossibleModelTimes,
  levelImpossible,
  levelNotAllowed,
  allowedImpossible,
  demoteDescends,
  demoteAllowed,
  hooksMakeSense,
  commandsComplete,
  flagsAreOurs,
  publicHost,
  keysClash,
  keyHasNoRight,
  remoteIsNotUs,
];

/** What is worth a word and stops nothing. */
export const CAUTIONS: readonly Check[] = [
  levelNotYet,
  policyLevelUnused,
  demoteByTheEnd,
  demoteNever,
  unusedKeys,
  footprintUnused,
  stallNeverSeen,
  warmupNeverDone,
  allDisabled,
  keyFitsNothing,
];
