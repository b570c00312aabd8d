import { DEADLINES } from './deadlines.ts';
import { DEMOTION } from './demotion.ts';
import { DOORS } from './doors.ts';
import { ENGINE } from './engine.ts';
import { FROZEN } from './frozen.ts';
import { HANDOVER } from './handover.ts';
import { HOST_MEMORY } from './host-memory.ts';
import { MORE_ROOM } from './more-room.ts';
import type { Mutant } from './mutant.ts';
import { LANE, MEMBER, PLACES, SWAP } from './parts.ts';
import { OVERLAP } from './overlap.ts';
import { POLICY } from './policy.ts';
import { REVISION } from './revision.ts';
import { RESTART } from './restart.ts';
import { STAGE } from './stage.ts';

/** The core with one guard taken out, again and again. */
export const MUTANTS: readonly Mutant[] = [
  ...ENGINE,
  ...LANE,
  ...MEMBER,
  ...PLACES,
  ...STAGE,
  ...DOORS,
  ...DEADLINES,
  ...DEMOTION,
  ...MORE_ROOM,
  ...FROZEN,
  ...OVERLAP,
  ...HOST_MEMORY,
  ...RESTART,
  ...HANDOVER,
  ...SWAP,
  ...POLICY,
  ...REVISION,
];
