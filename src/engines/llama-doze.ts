import type { Millis } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineAnswer } from '../ports/engine-http.ts';
import type { Question } from './sign-of-life.ts';

const ASK_MS = 2_000;
const LONGEST_MS = 5_000;

/**
 * Whether a llama-server has put itself to sleep. `/props` says so and is the only route that may be asked: it neither wakes the
 * server nor counts as work, while `/health` says nothing of it and most others wake it.
 */
export class LlamaDoze {
  /** How often to look. */
  readonly everyMs: number;
  readonly #clock: Clock;
  /** How long its way back may take. */
  readonly #loadMs: number;
  #dozes = false;
  /** Since when work waits for it to be back. */
  #wantedSince: Millis | undefined;

  constructor(clock: Clock, { idleMs, loadMs }: { readonly idleMs: number; readonly loadMs: number }) {
    this.#clock = clock;
    this.#loadMs = loadMs;
    this.everyMs = Math.min(LONGEST_MS, Math.max(500, idleMs / 2));
  }

  /** While it loads its model again it may say nothing at all, and then what was last seen holds. */
  async look({ http, origin, headers, signal }: Omit<Question, 'servedName'>): Promise<boolean> {
    const url = `${origin}/props`;
    const said = stateIn(await http.call({ method: 'GET', url, headers, limitMs: ASK_MS, signal }));
    this.#dozes = said ?? this.#dozes;
    if (!this.#dozes) this.#wantedSince = undefined;
    return this.#dozes;
  }

  /** Whether it is on its way back, for which it has as long as a start. Asked only while somebody waits for its work. */
  async comesBack(question: Omit<Question, 'servedName'>): Promise<boolean> {
    if (!(await this.look(question))) return false;
    this.#wantedSince ??= this.#clock.now();
    return this.#clock.now() - this.#wantedSince < this.#loadMs;
  }
}

function stateIn(answer: EngineAnswer): boolean | undefined {
  const said = answer.kind === 'answered' ? /"is_sleeping":\s*(true|false)/.exec(answer.body)?.[1] : undefined;
  return said === undefined ? undefined : said === 'true';
}
