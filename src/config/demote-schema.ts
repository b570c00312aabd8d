import { z } from 'zod';
import { key, seconds, sleepLevel } from './fields.ts';

const LONGEST_SECS = 2_592_000;

/** One step of a model that has nothing to do. */
export const DemoteSchema = z
  .strictObject({
    after_secs: key(
      seconds(0, LONGEST_SECS),
      'After how long without a request, counted from the end of the last one.',
    ),
    level: key(sleepLevel(), 'How deep it is put away then. 5: its process is stopped.'),
  })
  .meta({ id: 'demotion' });

/** Later steps are later and deeper; `checks/demote.ts` sees to it. */
export const demoteSteps = () => z.array(DemoteSchema).max(6);
