import type { Argv } from 'yargs';
import type { Terminal } from './terminal.ts';

type Choose = (job: () => Promise<number>) => void;

const json = <T>(command: Argv<T>) =>
  command.option('json', { type: 'boolean', default: false, describe: 'Print JSON, for programs' });

/** What can be done with a config without serving it. */
export function configCommands<T extends { readonly config: readonly string[] }>(
  command: Argv<T>,
  choose: Choose,
  terminal: Terminal,
) {
  return command
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
    .command(
      'import <file>',
      'Write a config of llama-swap or llmux as ours',
      (sub) =>
        sub
          .positional('file', { type: 'string', demandOption: true, describe: 'The config of the other program' })
          .option('out', { type: 'string', describe: 'Where to write it, in place of the terminal' })
          .option('force', { type: 'boolean', default: false, describe: 'Write over a file that is there' }),
      ({ file, out, force }) =>
        choose(async () => {
          const { configImport } = await import('./config.ts');
          return configImport({ file, out, force }, terminal);
        }),
    )
    .demandCommand(1, 1, 'catnap config needs to know what for: `check`, `schema` or `import`.');
}
