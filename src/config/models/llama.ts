import { z } from 'zod';
import { count, key, program } from '../fields.ts';

/** Keys of both backends whose server is llama-server. */
export const llamaProgram = {
  llama_server_command: key(program().optional(), 'The llama-server program for this model.', {
    inherits: 'llama_server_command',
  }),
};

export const llamaMemory = {
  sleep_idle_secs: key(
    count(1, 86_400).optional(),
    'After how long without work the server gives its model up by itself and keeps its process (`--sleep-idle-seconds`). It is loaded again by the next request, which waits for it; it counts as awake meanwhile, since it may take its memory again at any time.',
    { examples: [900], default_text: 'never' },
  ),
  keep_kv: key(
    z.boolean().default(false),
    'Whether what it has read of conversations is written to disk before its process ends, and given back to the next one. The files hold what clients wrote. Not for models with sliding-window or recurrent attention, of which llama-server saves too little.',
  ),
};
