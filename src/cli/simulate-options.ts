import type { Argv } from 'yargs';
import { once, UsageError } from './usage.ts';

/** What `catnap simulate` takes. */
export const simulateOptions = <T>(command: Argv<T>) =>
  command
    .option('trace', {
      type: 'string',
      array: true,
      nargs: 1,
      requiresArg: true,
      default: [],
      describe:
        'A trace: a CSV file of catnap, BurstGPT or Azure. MODEL=FILE for those that name no model. May be given again',
    })
    .option('workload', {
      type: 'string',
      requiresArg: true,
      coerce: once('--workload'),
      describe:
        'A made-up workload in its place: light, moderate, skew, heavy, zipf, agents, chat, adversary, abandoned',
    })
    .option('policy', {
      type: 'string',
      requiresArg: true,
      default: 'all',
      describe: 'One policy; all of them by default, and beside them how llmux and llama-swap choose',
    })
    .option('hours', { ...above('--hours', 0, 1_000), default: 1, describe: 'How long the made-up workload is' })
    .option('seed', { ...above('--seed', -1, 2 ** 31), default: 1, describe: 'Which one of its kind it is' })
    .option('speed-up', { ...above('--speed-up', 0, 1e6), default: 1, describe: 'Play a trace so many times faster' })
    .option('come-secs', {
      ...above('--come-secs', -1, 86_400),
      describe: 'What starting or waking takes; by default what was learned of each model, else 5',
    })
    .option('go-secs', {
      ...above('--go-secs', -1, 86_400),
      describe: 'What putting away takes; by default what was learned of each model, else 1',
    })
    .option('svg', {
      type: 'string',
      requiresArg: true,
      coerce: once('--svg'),
      describe: 'Draw who was awake when, into this file',
    });

/** A number above one bound and not above another. */
function above(option: string, least: number, most: number) {
  return {
    type: 'number' as const,
    requiresArg: true,
    coerce: (value: number | readonly number[]): number => {
      if (typeof value === 'number' && value > least && value <= most) return value;
      throw new UsageError(`${option} takes one number${least < 0 ? ' from 0' : ' above 0'} to ${most}.`);
    },
  };
}
