import { splitCommand } from '../split-command.ts';
import type { Notes } from './notes.ts';

/** Which backend serves a command line of llama-swap, and what of it becomes keys of that backend. */
type Served = Readonly<Record<string, unknown>>;

/** Lines of a command that begin with # are comments there. They may name macros, so they go first. */
export const withoutComments = (cmd: unknown): unknown =>
  typeof cmd === 'string'
    ? cmd
        .split('\n')
        .filter((line) => !line.trimStart().startsWith('#'))
        .join('\n')
    : cmd;

/** A backslash at the end joins lines, also where blanks follow it. */
const joined = (cmd: string): string => cmd.replaceAll(/\\\s*\n/g, ' ');

export function argvOf(cmd: string): readonly string[] | undefined {
  const split = splitCommand(joined(String(withoutComments(cmd))));
  return split.kind === 'split' ? split.argv : undefined;
}

/** `checkEndpoint` only matters for servers that are not known. */
export function servedBy(argv: readonly string[], at: string, notes: Notes): Served {
  const [program = '', ...args] = argv;
  const name = program.split('/').at(-1) ?? '';
  if (/^llama-server\b/.test(name)) {
    const { taken, rest } = take(args, ['-m', '--model'], ['--port', '--host']);
    if (taken !== undefined && !held(rest))
      return { backend: 'llama_server', model_path: taken, llama_server_command: program, ...extra(rest) };
  }
  if (name === 'vllm' && args[0] === 'serve') {
    const [model, ...flags] = args.slice(1);
    const { rest } = take(flags, [], ['--port', '--host']);
    if (model !== undefined && !model.startsWith('-') && !held(rest))
      return { backend: 'vllm_serve', model_path: model, vllm_command: program, ...extra(rest) };
  }
  if (/^docker|^podman/.test(name))
    notes.add(
      `${at}.cmd`,
      'starts a container: catnap ends the process that it started, so see that `stop_command` ends the container',
    );
  return { backend: 'command', command: argv };
}

const extra = (rest: readonly string[]): Served => (rest.length === 0 ? {} : { extra_args: rest });

/** Whether something in it is filled in for each start, which only `command` does. */
const held = (args: readonly string[]): boolean => args.some((arg) => arg.includes('${'));

/** The value of the first of these flags, and the arguments without it and without those that catnap sets itself. */
function take(args: readonly string[], wanted: readonly string[], ours: readonly string[]) {
  let taken: string | undefined;
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    const [flag = '', ...more] = arg.split('=');
    const inline = more.length > 0 && arg.startsWith('--') ? more.join('=') : undefined;
    const isOurs = ours.includes(flag);
    if (!isOurs && !(wanted.includes(flag) && taken === undefined)) {
      rest.push(arg);
      continue;
    }
    if (!isOurs) taken = inline ?? args[at + 1];
    if (inline === undefined) at++;
  }
  return { taken, rest };
}
