import { z } from 'zod';
import { commandLine, key, path } from '../fields.ts';
import { engineKey, everyModel, supervised, swapped } from './shared.ts';

const startedByCommand = {
  command: key(
    commandLine(),
    'The command line: a list, or one string that is split as a shell would. `${PORT}`, `${MODEL}`, `${MODEL_PATH}` and `${DEVICE}` are filled in. No shell runs it.',
    { examples: ['my-server --listen 127.0.0.1:${PORT}', ['my-server', '--port', '${PORT}']] },
  ),
  stop_command: key(
    commandLine().optional(),
    'Run in place of the first SIGTERM. What is filled into the command is filled in here, and `${PID}`.',
    { examples: ['docker stop my-server'] },
  ),
  cwd: key(path().optional(), 'The folder the command runs in.', { default_text: 'the folder catnap runs in' }),
  readiness_path: key(
    z
      .string()
      .regex(/^(\/\S*|none)$/, 'must be a path that begins with /, or "none"')
      .default('/health'),
    'The server is ready when GET on this path answers 200. `none`: when its port accepts a connection.',
  ),
  ...swapped,
  ...supervised,
  ...engineKey('The key the server is sent.'),
  ...everyModel,
};

/** A model served by any server that a command starts. */
export const command = z
  .strictObject({
    backend: key(z.literal('command'), 'Any server that a command starts.'),
    model_path: key(path().optional(), 'What `${MODEL_PATH}` stands for.'),
    ...startedByCommand,
  })
  .meta({ description: 'A model served by a server of your own.' });

/** A model of CTranslate2. It comes without a server, so which one there is the command says. */
export const ct2 = z
  .strictObject({
    backend: key(z.literal('ct2'), 'CTranslate2, by a server that a command starts.'),
    model_path: key(path(), 'The folder of the converted model: what `${MODEL_PATH}` stands for.', {
      examples: ['/models/nllb-200-ct2'],
    }),
    ...startedByCommand,
  })
  .meta({ description: 'A model of CTranslate2, served by a server of your own.' });
