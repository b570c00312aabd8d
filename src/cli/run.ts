import yargs, { type Argv } from 'yargs';
import { EXIT } from '../app/exit.ts';
import { configCommands } from './config-commands.ts';
import { simulateOptions } from './simulate-options.ts';
import type { Terminal } from './terminal.ts';
import { once, onlyWith, portOption, usageProblem, UsageError } from './usage.ts';
import { ownVersion } from './version.ts';

/** What a command line asks for, ready to be done. It loads what it needs, so that `--help` waits for none of it. */
type Job = () => number | Promise<number>;

/** Understands the command line, does what it asks for, and gives the exit code. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const job = await understand(argv, terminal);
    return await job();
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.err(`${error.message}\nSee \`catnap --help\`.\n`);
      return EXIT.usage;
    }
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    terminal.err(`This is a bug in catnap. Please report it with these lines:\n${told}\n`);
    return EXIT.bug;
  }
}

/** Parsing only chooses the job: whatever it throws is the fault of the command line. */
async function understand(argv: readonly string[], terminal: Terminal): Promise<Job> {
  let job: Job = () => EXIT.ok;
  const choose = (chosen: Job) => {
    job = chosen;
  };
  let printed = '';
  try {
    const parsed = await tree(choose, terminal).parseAsync([...argv], {}, (_error, _args, output) => {
      printed += output;
    });
    const [extra] = parsed._.filter((word) => !COMMAND_WORDS.has(String(word)));
    if (extra !== undefined) throw new UsageError(`Nothing is known of "${extra}".`);
  } catch (error) {
    if (error instanceof UsageError || !(error instanceof Error)) throw error;
    throw new UsageError(usageProblem(error.message, argv));
  }
  if (printed === '') return job;
  return () => {
    terminal.out(`${printed}\n`);
    return EXIT.ok;
  };
}

const STEERING = ['reload', 'restart', 'load', 'unload', 'sleep', 'wake', 'pin', 'unpin', 'logs', 'requests', 'cancel'];

const COMMAND_WORDS: ReadonlySet<string> = new Set([
  'serve',
  'status',
  'checkpoint',
  'doctor',
  'config',
  'check',
  'schema',
  'import',
  'key',
  'simulate',
  ...STEERING,
]);

function tree(choose: (job: Job) => void, terminal: Terminal) {
  return yargs()
    .scriptName('catnap')
    .detectLocale(false)
    .wrap(100)
    .parserConfiguration({ 'camel-case-expansion': false, 'boolean-negation': false, 'dot-notation': false })
    .option('config', {
      type: 'string',
      array: true,
      nargs: 1,
      requiresArg: true,
      default: [],
      defaultDescription: 'config.json, then config.yaml',
      describe: 'The config file. May be given again: later files lie over earlier ones',
    })
    .option('verbose', {
      alias: 'v',
      type: 'boolean',
      default: false,
      describe: 'Log everything, with what the engines print',
    })
    .command(
      ['$0', 'serve'],
      'Serve the models of the config behind one address',
      (command) =>
        command
          .option('port', {
            alias: 'p',
            type: 'string',
            requiresArg: true,
            coerce: portOption,
            describe: 'The port to listen on, in place of the one of the config',
          })
          .option('validate', {
            type: 'string',
            requiresArg: true,
            coerce: once('--validate'),
            describe: 'Serve nothing; try the sleep levels of this model and tell what came of it',
          })
          .option('levels', {
            type: 'string',
            requiresArg: true,
            coerce: once('--levels'),
            describe: 'With --validate: the levels to try, of 1, 2, 3, hybrid, 4, 4full and 5, or 3f and 4f',
          })
          .option('cycles', {
            type: 'string',
            requiresArg: true,
            coerce: once('--cycles'),
            describe: 'With --validate: how often each level sleeps and wakes. 2 unless given',
          })
          .option('json', { type: 'boolean', default: false, describe: 'With --validate: print JSON, for programs' }),
      ({ config, port, verbose, validate: model, levels, cycles, json: asJson }) =>
        choose(async () => {
          if (model !== undefined) {
            const { validate } = await import('./validate.ts');
            return validate({ config, validate: model, levels, cycles, json: asJson, verbose }, terminal);
          }
          onlyWith('--validate', { levels, cycles, json: asJson || undefined });
          const { serve } = await import('../app/serve.ts');
          return serve({ config, port, verbose, version: ownVersion(), launcher: terminal.launcher });
        }),
    )
    .command(
      'status',
      'Show what a running catnap is doing',
      (command) => running(command),
      ({ config, url, json: asJson }) =>
        choose(async () => {
          const { status } = await import('./status.ts');
          return status({ config, url, json: asJson }, terminal);
        }),
    )
    .command(
      'requests',
      'List the requests that are open',
      (command) =>
        running(command)
          .option('model', {
            type: 'string',
            requiresArg: true,
            coerce: once('--model'),
            describe: 'Only of this model',
          })
          .option('phase', {
            type: 'string',
            requiresArg: true,
            coerce: once('--phase'),
            describe: 'Only in this phase: arriving, waiting, entering, granted or streaming',
          })
          .option('limit', { type: 'number', requiresArg: true, default: 100, describe: 'How many' }),
      ({ config, url, json: asJson, model: name, phase, limit }) =>
        choose(async () => {
          const { requests } = await import('./requests.ts');
          return requests({ config, url, json: asJson, model: name, phase, limit }, terminal);
        }),
    )
    .command(
      'cancel <id>',
      'End an open request',
      (command) =>
        running(
          command.positional('id', { type: 'string', demandOption: true, describe: 'As `catnap requests` shows it' }),
        ),
      ({ id, ...where }) =>
        choose(async () => {
          const { cancel } = await import('./steer.ts');
          return cancel({ ...where, id }, terminal);
        }),
    )
    .command(
      'reload',
      'Have a running catnap read its config again',
      (command) =>
        running(command).option('now', {
          type: 'boolean',
          default: false,
          describe: 'Changed models that are awake start anew now, not with their next request',
        }),
      ({ now, ...where }) =>
        choose(async () => {
          const { reload } = await import('./reload.ts');
          return reload({ ...where, now }, terminal);
        }),
    )
    .command(
      'restart',
      'Have a running catnap leave its engines as they are to a fresh one',
      (command) => running(command),
      (where) =>
        choose(async () => {
          const { restart } = await import('./restart.ts');
          return restart(where, terminal);
        }),
    )
    .command(
      'load <model>',
      'Load a model, and wait until it is loaded',
      (command) =>
        running(model(command))
          .option('set', {
            type: 'string',
            array: true,
            nargs: 1,
            requiresArg: true,
            default: [],
            describe: 'Change a setting for this load: KEY=VALUE. May be given again',
          })
          .option('replicas', { type: 'number', requiresArg: true, describe: 'How many engines it comes with' })
          .option('no-evict', { type: 'boolean', default: false, describe: 'Do not load it if another had to go' })
          .option('no-wait', noWait),
      ({ model: name, set, replicas, 'no-evict': evictsNobody, 'no-wait': hurry, ...where }) =>
        choose(async () => {
          const { load } = await import('./steer.ts');
          return load({ ...where, model: name, set, replicas, evictsNobody, wait: !hurry }, terminal);
        }),
    )
    .command(
      'unload <model>',
      'Unload a model, and wait until its processes are gone',
      (command) =>
        running(model(command))
          .option('hold', { type: 'boolean', default: false, describe: 'Let no request bring it back' })
          .option('level', level)
          .option('no-wait', noWait),
      ({ model: name, hold, level: deep, 'no-wait': hurry, ...where }) =>
        choose(async () => {
          const { unload } = await import('./steer.ts');
          return unload({ ...where, model: name, hold, level: deep, wait: !hurry }, terminal);
        }),
    )
    .command(
      'sleep <model>',
      'Put a model to sleep once its requests are served',
      (command) => running(model(command)).option('level', lastingLevel),
      ({ model: name, level: deep, ...where }) =>
        choose(async () => {
          const { control } = await import('./steer.ts');
          return control({ ...where, act: 'sleep', model: name, level: deep }, terminal);
        }),
    )
    .command(
      'wake <model>',
      'Wake a model when its turn comes',
      (command) => running(model(command)).option('level', lastingLevel),
      ({ model: name, level: deep, ...where }) =>
        choose(async () => {
          const { control } = await import('./steer.ts');
          return control({ ...where, act: 'wake', model: name, level: deep }, terminal);
        }),
    )
    .command(
      'pin <model>',
      'Swap to a model and let requests swap no more',
      (command) => running(model(command)),
      ({ model: name, ...where }) =>
        choose(async () => {
          const { control } = await import('./steer.ts');
          return control({ ...where, act: 'pin', model: name }, terminal);
        }),
    )
    .command(
      'unpin',
      'Let requests swap again',
      (command) => running(command),
      (where) =>
        choose(async () => {
          const { control } = await import('./steer.ts');
          return control({ ...where, act: 'unpin', model: undefined }, terminal);
        }),
    )
    .command(
      'logs <model>',
      'Show what the engine of a model has printed',
      (command) =>
        running(model(command))
          .option('follow', { alias: 'f', type: 'boolean', default: false, describe: 'Go on with what it prints' })
          .option('lines', { alias: 'n', type: 'number', requiresArg: true, default: 200, describe: 'How many lines' }),
      ({ model: name, follow, lines, ...where }) =>
        choose(async () => {
          const { logs } = await import('./logs.ts');
          return logs({ ...where, model: name, follow, lines }, terminal);
        }),
    )
    .command(
      'key [name]',
      'Make a key for a client, and print what the config wants to know of it',
      (command) =>
        json(command)
          .positional('name', { type: 'string', describe: 'What logs and metrics call it' })
          .option('stdin', {
            type: 'boolean',
            default: false,
            describe: 'Read a key from standard input, and make none',
          }),
      ({ name, stdin, json: asJson }) =>
        choose(async () => {
          const { makeClientKey } = await import('./key.ts');
          return makeClientKey({ name, stdin, json: asJson }, terminal);
        }),
    )
    .command(
      'simulate',
      'Play a trace or a made-up workload under each policy, without engines',
      (command) => simulateOptions(json(command)),
      ({ trace: traces, 'speed-up': speedUp, 'come-secs': come, 'go-secs': go, ...rest }) =>
        choose(async () => {
          const { simulateCommand } = await import('./simulate.ts');
          const ms = (secs: number | undefined): number | undefined => (secs === undefined ? undefined : secs * 1_000);
          return simulateCommand({ ...rest, traces, speedUp, comeMs: ms(come), goMs: ms(go) }, terminal);
        }),
    )
    .command(
      'checkpoint <model>',
      'Start a model, write its engine to disk, and let later starts begin from there',
      (command) =>
        json(model(command)).option('requests', {
          type: 'string',
          requiresArg: true,
          coerce: once('--requests'),
          describe: 'A file with a request on each line, which it answers first and has read then',
        }),
      ({ config, model: name, requests, json: asJson, verbose }) =>
        choose(async () => {
          const { checkpoint } = await import('./checkpoint.ts');
          return checkpoint({ config, model: name, requests, json: asJson, verbose: verbose === true }, terminal);
        }),
    )
    .command(
      'doctor',
      'Say what this machine has, and which sleep levels can work on it',
      (command) => json(command),
      ({ config, json: asJson }) =>
        choose(async () => {
          const { doctor } = await import('./doctor.ts');
          return doctor({ config, json: asJson }, terminal);
        }),
    )
    .command('config', 'Look at the config without serving it', (command) => configCommands(command, choose, terminal))
    .strict()
    .help()
    .alias('help', 'h')
    .version(ownVersion())
    .epilogue(EPILOGUE)
    .exitProcess(false)
    .fail(false);
}

/** What every command takes that asks a running catnap. */
const running = <T>(command: Argv<T>) =>
  json(command).option('url', {
    type: 'string',
    requiresArg: true,
    coerce: once('--url'),
    describe: 'Where it is, when the config does not tell',
  });

const model = <T>(command: Argv<T>) =>
  command.positional('model', { type: 'string', demandOption: true, describe: 'A model or an alias' });

const level = { type: 'string', requiresArg: true, describe: 'How deep: 1, 2, 3, 4, 5 or hybrid' } as const;
const lastingLevel = {
  ...level,
  describe: 'How deep it is put away from now on: 1, 2, 3, 4, 5, hybrid, or config for what the config says',
} as const;
const noWait = { type: 'boolean', default: false, describe: 'Do not wait for it' } as const;

const json = <T>(command: Argv<T>) =>
  command.option('json', { type: 'boolean', default: false, describe: 'Print JSON, for programs' });

const EPILOGUE = `Environment:
  CATNAP_LOG         what is logged: a level for all, others by target, as in info,engine=debug
  CATNAP_LOG_FORMAT  human or json; by default human on a terminal
  CATNAP_KEY         the key of an operator, for the commands that ask a running catnap
  NO_COLOR           no colours

Exit codes: 0 all is well, 1 what was asked about failed, 2 bad usage or config, 70 a bug in catnap.`;
