import type { CommandModel, Ct2Model } from '../schema.ts';
import { eachModel, type CheckFinding } from './check.ts';
import type { Path } from '../place.ts';

const FILLED = ['PORT', 'MODEL', 'MODEL_PATH', 'DEVICE'];
const PLACEHOLDER = /\$\{([^}]*)\}/g;

/** Every `${...}` of a command stands for something, and the server learns its port. */
export const commandsComplete = eachModel((name, model) => {
  if (model.backend !== 'command' && model.backend !== 'ct2') return [];
  const at = ['models', name];
  return [
    ...unknownWords(model.command, [...at, 'command'], FILLED),
    ...unknownWords(model.stop_command ?? [], [...at, 'stop_command'], ['PID', ...FILLED]),
    ...portUnknown(model, at),
    ...pathUnknown(model, at),
  ];
});

const wordsOf = (argv: readonly string[]): string[] =>
  argv.flatMap((part) => Array.from(part.matchAll(PLACEHOLDER), ([, word]) => word ?? ''));

function unknownWords(argv: readonly string[], path: Path, known: readonly string[]): readonly CheckFinding[] {
  return wordsOf(argv)
    .filter((word) => !known.includes(word))
    .map((word) => ({
      path,
      message: `holds \${${word}}, which stands for nothing: no shell runs the command`,
      fix: `It may hold ${known.map((each) => `\${${each}}`).join(', ')}.`,
    }));
}

const portUnknown = ({ command, port }: CommandModel | Ct2Model, at: Path): readonly CheckFinding[] =>
  port === undefined && !wordsOf(command).includes('PORT')
    ? [
        {
          path: [...at, 'command'],
          message: 'does not tell the server its port',
          fix: 'Put ${PORT} where the port belongs, or set `port` to the one it uses.',
        },
      ]
    : [];

const pathUnknown = (
  { command, stop_command, model_path }: CommandModel | Ct2Model,
  at: Path,
): readonly CheckFinding[] =>
  model_path === undefined && wordsOf([...command, ...(stop_command ?? [])]).includes('MODEL_PATH')
    ? [{ path: [...at, 'model_path'], message: 'is missing, and the command holds ${MODEL_PATH}' }]
    : [];

const OWNED_FLAGS: Readonly<Record<string, string>> = {
  '--port': 'Set `port` in its place.',
  '--host': 'Engines listen on 127.0.0.1; catnap has a `host` of its own.',
};

const PLACED = 'Set `model_path` in its place.';

/** Those that one engine has and that would lead it away from what catnap knows of it. */
const OWNED_BY_BACKEND: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  vllm_serve: { '--uds': 'Engines listen on 127.0.0.1.' },
  sglang: { '--model-path': PLACED, '--model': PLACED },
  exllamav3: {
    '--config': 'TabbyAPI would read nothing else: put its settings into `extra_args`.',
    '--model-dir': PLACED,
    '--model-name': PLACED,
    '--disable-auth': 'catnap keeps the keys.',
    '--inline-model-loading': 'A request would change the model behind its back.',
  },
};

/** What catnap decides itself is not in `extra_args`. */
export const flagsAreOurs = eachModel((name, model) => {
  if (!('extra_args' in model)) return [];
  const owned = { ...OWNED_FLAGS, ...OWNED_BY_BACKEND[model.backend] };
  return model.extra_args.flatMap((arg, index) => {
    const fix = owned[arg.split('=', 1)[0]?.replaceAll('_', '-') ?? ''];
    return fix === undefined
      ? []
      : [{ path: ['models', name, 'extra_args', index], message: `is ${arg}, which catnap sets itself`, fix }];
  });
});
