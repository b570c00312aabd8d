import type { Processes } from '../ports/process.ts';
import type { Program, Programs } from '../ports/programs.ts';
import { shown, type Argv } from './command-line.ts';
import { parseHelp, type KnownFlags } from './llama-help.ts';
import { missing } from './served.ts';

/** Reading a help takes 15 ms; a binary of many hundred megabytes may have to come from a slow disk first. */
const ASK_LIMIT_MS = 10_000;

/** What each llama-server understands, asked once for as long as its file stays the same. */
export class LlamaBinaries {
  readonly #programs: Programs;
  readonly #processes: Pick<Processes, 'ask'>;
  readonly #asked = new Map<string, { readonly mark: string; readonly flags: Promise<KnownFlags | undefined> }>();

  constructor(programs: Programs, processes: Pick<Processes, 'ask'>) {
    this.#programs = programs;
    this.#processes = processes;
  }

  /** Undefined when its help could not be had or read. Rejects when there is no such program. */
  async flagsOf(command: Argv): Promise<KnownFlags | undefined> {
    const { path, mark } = await this.#find(command);
    const key = [path, ...command.slice(1)].join('\0');
    const before = this.#asked.get(key);
    if (before?.mark === mark) return before.flags;
    const flags = this.#ask(command);
    this.#asked.set(key, { mark, flags });
    const read = await flags;
    if (read === undefined) this.#asked.delete(key);
    return read;
  }

  /** As it gives it itself, for error messages. */
  async versionOf(command: Argv): Promise<string> {
    const { output } = await this.#processes.ask([...command, '--version'], ASK_LIMIT_MS);
    const version = /^version: (.+)$/m.exec(output)?.[1];
    return version === undefined ? shown(command) : `${shown(command)} ${version.trim()}`;
  }

  async #find(command: Argv): Promise<Program> {
    const [program] = command;
    const found = await this.#programs.find(program);
    if (found !== undefined) return found;
    throw missing(program, 'llama.cpp', 'llama_server_command');
  }

  async #ask(command: Argv): Promise<KnownFlags | undefined> {
    const { code, output } = await this.#processes.ask([...command, '--help'], ASK_LIMIT_MS);
    return code === 0 ? parseHelp(output) : undefined;
  }
}
