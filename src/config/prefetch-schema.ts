import { z } from 'zod';
import { count, key, seconds } from './fields.ts';

/** Reading ahead what the next model's engine will read. */
export const PrefetchSchema = z.strictObject({
  enabled: key(
    z.boolean().default(true),
    'Whether the files of the next model are read while it cannot come yet, so that the system has them in memory: while others drain for it, and when a request announces it (`x-catnap-next`). Only files below a `model_path` that is a file or a folder here, and images of level 4.',
  ),
  max_mib: key(count(1, 16_777_216).default(65_536), 'How much is read ahead for one model at most.'),
  mib_per_sec: key(count(1, 1_000_000).default(1_000), 'How fast it is read at most.'),
  keep_free_mib: key(
    count(0, 16_777_216).default(2_048),
    'Nothing more is read ahead once less memory than this is available.',
  ),
  guess_next: key(
    z.boolean().default(false),
    'Whether, when nothing is asked for, the model is read ahead that mostly followed the last one, by the hour of the day. It is only read, never loaded.',
  ),
  guess_after_secs: key(
    seconds(0).default(5),
    'How long nothing has to be asked for before the next model is guessed.',
  ),
});
