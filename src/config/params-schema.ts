import { z } from 'zod';
import { key } from './fields.ts';

const name = () =>
  z
    .string()
    .min(1)
    .max(200)
    .refine((value) => value !== 'model', 'must not be "model", which `served_model_name` changes');

const values = () => z.record(name(), z.unknown());

/** What is done to the parameters of JSON requests: those at the top level of the body. */
export const params = {
  set_params: key(values().default({}), 'Parameters that every request is given, whatever it says itself.', {
    examples: [{ chat_template_kwargs: { enable_thinking: false } }],
  }),
  strip_params: key(z.array(name()).max(1_000).default([]), 'Parameters that are taken out of every request.', {
    examples: [['temperature', 'top_p']],
  }),
  default_params: key(values().default({}), 'Parameters for requests that do not have them.', {
    examples: [{ max_tokens: 4_096 }],
  }),
};
