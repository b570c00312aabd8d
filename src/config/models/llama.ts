import { z } from 'zod';
import { key, program } from '../fields.ts';

/** Keys of both backends whose server is llama-server. */
export const llamaProgram = {
  llama_server_command: key(program().optional(), 'The llama-server program for this model.', {
    inherits: 'llama_server_command',
  }),
};

export const llamaMemory = {
  keep_kv: key(
    z.boolean().default(false),
    'Whether what it has read of conversations is written to disk before its process ends, and given back to the next one. The files hold what clients wrote. Not for models with sliding-window or recurrent attention, of which llama-server saves too little.',
  ),
};
