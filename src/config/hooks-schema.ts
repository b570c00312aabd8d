import { z } from 'zod';
import { commandLine, key, seconds, text } from './fields.ts';

/** One of them. */
export const HookSchema = z
  .strictObject({
    command: key(
      commandLine().optional(),
      'The command line: a list, or one string that is split as a shell would. No shell runs it. It has `CATNAP_MODEL`, `CATNAP_HOOK` and the like in its environment.',
      { examples: [['/usr/local/bin/mount-models', '--read-only']] },
    ),
    url: key(
      text()
        .regex(
          /^https?:\/\/[^\s/?#@]+([/?][^\s#]*)?$/,
          'must be a URL that begins with http:// or https://, without a name and password in it',
        )
        .optional(),
      'In place of `command`: gets a POST that says the same as JSON. It has failed unless it answers 2xx.',
      { examples: ['http://127.0.0.1:9000/catnap'] },
    ),
    timeout_secs: key(seconds(0.1, 3_600).default(30), 'How long it may take. Then it is killed, and has failed.'),
    fatal: key(
      z.boolean().default(false),
      'Whether the engine is not let go on when it fails. Hooks around a stop are never fatal.',
    ),
  })
  .meta({ id: 'hook' });

const hook = (when: string) => key(HookSchema.optional(), when);

/** What an operator wants done at certain moments of an engine's life. */
export const HooksSchema = z.strictObject({
  before_start: hook('Before its process is started. Fatal: the start has failed.'),
  after_start: hook('Once it is ready, before its first request. Fatal: the start has failed, and it is ended.'),
  before_sleep: hook(
    'Before it is put to sleep, when nothing is served any more. Fatal: the next deeper level is tried.',
  ),
  after_sleep: hook('Once it sleeps and its memory is proven back. Fatal: the next deeper level is tried.'),
  before_wake: hook('Before it is woken. Fatal: it is ended and started afresh, once.'),
  after_wake: hook('Once it is ready again, before its first request. Fatal: it is ended and started afresh, once.'),
  before_stop: hook('Before its process is asked to end, if it still runs.'),
  after_stop: hook('Once nothing of it is left, also after a crash.'),
});
