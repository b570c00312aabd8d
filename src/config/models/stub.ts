import { z } from 'zod';
import { count, key, milliseconds, text } from '../fields.ts';
import { everyModel, swapped } from './shared.ts';

const delay = () => milliseconds().default(0);

/** A built-in engine without a model: a fixed text with delays one can set, for trials and tests. */
export const stub = z
  .strictObject({
    backend: key(z.literal('stub'), 'The built-in engine.'),
    text: key(text().optional(), 'What it answers.', { default_text: 'a line that names the model' }),
    tokens: key(count(1, 1_000_000).optional(), 'How many tokens it answers; the text is repeated or cut.', {
      default_text: 'those of the text',
    }),
    start_ms: key(delay(), 'How long a start takes.'),
    sleep_ms: key(delay(), 'How long going to sleep takes.'),
    wake_ms: key(delay(), 'How long waking takes.'),
    first_token_ms: key(delay(), 'How long the first token takes.'),
    token_ms: key(delay(), 'How long each further token takes.'),
    ...swapped,
    ...everyModel,
  })
  .meta({ description: 'A model that answers a fixed text, for trials and tests.' });
