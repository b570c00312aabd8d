import { isFields } from '../values.ts';
import type { Fields, Notes } from './notes.ts';

type Env = Readonly<Record<string, string | undefined>>;

const HOLE = /\$\{([^}]+)\}/g;
/** Macros may hold macros; one that holds itself is left as it is after so many rounds. */
const MOST_ROUNDS = 20;

/** What `${...}` stands for in a llama-swap file: macros, the name of the model, variables of the environment. */
export class Macros {
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #env: Env;
  readonly #notes: Notes;

  constructor(values: ReadonlyMap<string, unknown>, env: Env, notes: Notes) {
    this.#values = values;
    this.#env = env;
    this.#notes = notes;
  }

  /** With those of one model before those of the file. */
  of(model: string, own: Fields): Macros {
    return new Macros(new Map([...this.#values, ...Object.entries(own), ['MODEL_ID', model]]), this.#env, this.#notes);
  }

  /** All of a value, down to its texts. A text that is one macro and nothing else becomes its value, a number stays a number. */
  filled(value: unknown, at: string): unknown {
    if (typeof value === 'string') return this.#text(value, at);
    if (Array.isArray(value)) return value.map((one, n) => this.filled(one, `${at}[${n}]`));
    if (!isFields(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [String(this.#text(key, at)), this.filled(one, `${at}.${key}`)]),
    );
  }

  #text(written: string, at: string): unknown {
    let text = written;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const whole = /^\$\{([^}]+)\}$/.exec(text)?.[1];
      const value = whole === undefined ? undefined : this.#value(whole, at);
      if (value !== undefined && typeof value !== 'string') return value;
      const next = text.replaceAll(HOLE, (hole, name: string) => {
        const found = this.#value(name, at);
        return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean'
          ? String(found)
          : hole;
      });
      if (next === text) break;
      text = next;
    }
    return text;
  }

  #value(name: string, at: string): unknown {
    if (!name.startsWith('env.')) return this.#values.get(name);
    const variable = name.slice('env.'.length);
    const value = this.#env[variable];
    if (value === undefined)
      this.#notes.add(at, `names the variable ${variable}, which is not set here: put its value in its place`);
    else this.#notes.add(at, `holds the value that the variable ${variable} has now: a config here reads none`);
    return value ?? `$${variable}`;
  }
}
