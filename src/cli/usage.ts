import { nearest } from '../config/nearest.ts';

/** The command line cannot be understood. The message says what to change. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const OPTIONS = [
  '--config',
  '--port',
  '--verbose',
  '--version',
  '--help',
  '--json',
  '--url',
  '--stdin',
  '--trace',
  '--workload',
  '--policy',
  '--hours',
  '--seed',
  '--speed-up',
  '--come-secs',
  '--go-secs',
  '--svg',
  '--validate',
  '--levels',
  '--cycles',
  '--set',
  '--replicas',
  '--no-evict',
  '--no-wait',
  '--hold',
  '--level',
  '--follow',
  '--lines',
  '--now',
  '--limit',
  '--model',
  '--phase',
  '--out',
  '--force',
];
const COMMANDS = [
  'serve',
  'status',
  'checkpoint',
  'doctor',
  'config',
  'config check',
  'config schema',
  'config import',
  'key',
  'simulate',
  'reload',
  'restart',
  'load',
  'unload',
  'sleep',
  'wake',
  'pin',
  'unpin',
  'logs',
  'requests',
  'cancel',
];

/** What to tell about words that nothing is known of: what they are, and what was probably meant. */
export function usageProblem(message: string, argv: readonly string[]): string {
  const [, valueless] = /^Not enough arguments following: (.+)$/.exec(message) ?? [];
  if (valueless !== undefined) return `${dashed(valueless)} needs a value.`;
  const [, unknown] = /^Unknown (?:argument|command)s?: (.+)$/.exec(message) ?? [];
  if (unknown === undefined) return message;
  return unknown
    .split(', ')
    .map((word) => unknownWord(word, argv))
    .join('\n');
}

function unknownWord(word: string, argv: readonly string[]): string {
  const option = [`--${word}`, `-${word}`].find((written) => argv.some((arg) => arg.split('=')[0] === written));
  if (option !== undefined) return `There is no option ${option} here.${meant(option, OPTIONS)}`;
  if (!argv.includes(word)) return `There is no option -${word} here.`;
  const [first = '', second = ''] = argv;
  if (COMMANDS.includes(`${first} ${second}`) && argv.indexOf(word) > 1) return `"${word}" is a word too many.`;
  const command = first === 'config' ? `config ${word}` : word;
  const hint = meant(command, COMMANDS);
  const hasCommand = argv.some((arg, place) => COMMANDS.includes(arg) && place !== argv.lastIndexOf(word));
  if (hint === '' && hasCommand) return `"${word}" is a word too many.`;
  return `There is no command "${command}".${hint}`;
}

function meant(word: string, known: readonly string[]): string {
  const near = known.includes(word) ? undefined : nearest(word, known);
  return near === undefined ? '' : ` Did you mean ${near}?`;
}

const dashed = (option: string): string => `${option.length === 1 ? '-' : '--'}${option}`;

/** What the parser gives for an option with a value: a list when it was given more than once. */
type Given = string | readonly string[] | undefined;

/** An option that makes sense only once. */
export function once(option: string): (value: Given) => string | undefined {
  return (value) => {
    if (typeof value === 'object') throw new UsageError(`${option} is given more than once.`);
    return value;
  };
}

/** Options that mean nothing without another one. */
export function onlyWith(other: string, given: Readonly<Record<string, unknown>>): void {
  const [name] = Object.keys(given).filter((key) => given[key] !== undefined);
  if (name !== undefined) throw new UsageError(`--${name} means nothing here without ${other}.`);
}

/** A port from the command line; 0 asks for any free one. */
export function portOption(value: Given): number | undefined {
  const text = once('--port')(value);
  if (text === undefined) return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new UsageError(`--port must be a number from 0 to 65535, not "${text}".`);
}
