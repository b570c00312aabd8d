import { z } from 'zod';
import { key } from './fields.ts';

/** What works where it was tried, and may change its name or go. */
export const ExperimentalSchema = z.strictObject({
  freeze_drain: key(
    z.boolean().default(false),
    'Whether a busy model may make room with its requests in flight, where waiting for them takes longer: it is suspended at level 3 or 4, they stand still, and go on with its next turn. Under `slack`, for models with one engine whose validation passed it (`catnap --validate MODEL --levels 3f,4f`). See docs/scheduling.md.',
  ),
});
