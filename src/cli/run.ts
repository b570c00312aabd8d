import yargs, { type Argv } from 'yargs';
import { EXIT } from '../app/exit.ts';
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

const COMMAND_WORDS: ReadonlySet<string> = new Set(['serve', 'status', 'config', 'check', 'schema', 'key', 'simulate']);

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
            describe: 'With --validate: the levels to try, of 1, 2, 3, hybrid, 4, 4full and 5',
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
          return serve({ config, port, verbose, version: ownVersion() });
        }),
    )
    .command(
      'status',
      'Show what a running catnap is doing',
      (command) =>
        json(command).option('url', {
          type: 'string',
          requiresArg: true,
          coerce: once('--url'),
          describe: 'Where it is, when the config does not tell',
        }),
      ({ config, url, json: asJson }) =>
        choose(async () => {
          const { status } = await import('./status.ts');
          return status({ config, url, json: asJson }, terminal);
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
    .command('config', 'Look at the config without serving it', (command) =>
      command
        .command(
          'check',
          'Say everything that is wrong with the config',
          (sub) => json(sub),
          ({ config, json: asJson }) =>
            choose(async () => {
              const { configCheck } = await import('./config.ts');
              return configCheck({ config, json: asJson }, terminal);
            }),
        )
        .command(
          'schema',
          'Print the JSON Schema of the config',
          (sub) => sub,
          () =>
            choose(async () => {
              const { configSchema } = await import('./config.ts');
              return configSchema(terminal);
            }),
        )
        .demandCommand(1, 1, 'catnap config needs to know what for: `catnap config check` or `catnap config schema`.'),
    )
    .strict()
    .help()
    .alias('help', 'h')
    .version(ownVersion())
    .epilogue(EPILOGUE)
    .exitProcess(false)
    .fail(false);
}

const json = <T>(command: Argv<T>) =>
  command.option('json', { type: 'boolean', default: false, describe: 'Print JSON, for programs' });

const EPILOGUE = `Environment:
  CATNAP_LOG         what is logged: a level for all, others by target, as in info,engine=debug
  CATNAP_LOG_FORMAT  human or json; by default human on a terminal
  CATNAP_KEY         the key of an operator, for the commands that ask a running catnap
  NO_COLOR           no colours

Exit codes: 0 all is well, 1 what was asked about failed, 2 bad usage or config, 70 a bug in catnap.`;
