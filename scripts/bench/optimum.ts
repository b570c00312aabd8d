import { Heap } from '../../src/core/heap.ts';
import type { SwapTimes } from '../../src/simulate/replay.ts';
import type { Arrival } from '../../src/simulate/workload.ts';

/** What somebody who knows all requests beforehand can reach, and what it takes. */
export type Optimum = {
  readonly meanMs: number;
  readonly turns: number;
  /** The most requests that are served at a time. Where an engine has as many places, no rule can do better. */
  readonly mostAtOnce: number;
};

/** A model that is awake, and one way in which it came to be. */
type Turn = {
  readonly on: number;
  readonly since: number;
  /** How many requests of each model had been granted when it was sent for. */
  readonly had: readonly number[];
  /** What all those who had a turn by now have waited, together. */
  readonly waitedMs: number;
  readonly before: Turn | undefined;
  /** When the last of those that it was granted has been served. */
  doneAt: number;
};

/**
 * The least mean wait for a turn among all schedules in which one model is awake at a time, is granted its requests as they come, goes
 * when the last of them has been served, and comes only for somebody who waits. Engines have any number of places, so for engines that have fewer it
 * is a lower bound. Undefined when more than so many turns would have to be looked at.
 *
 * It goes through the time once, with all turns that may still be the best. A model is sent off right after a grant, after its own coming, or when the
 * first request for another comes: at any moment in between the same have been granted as at the one before, and the next is there sooner.
 */
export function offlineOptimum(
  arrivals: readonly Arrival[],
  times: SwapTimes,
  mostTurns = 3_000_000,
): Optimum | undefined {
  return new Search(arrivals, times, mostTurns).run();
}

class Search {
  readonly #lines: readonly (readonly Arrival[])[];
  readonly #sums: readonly (readonly number[])[];
  readonly #arrivals: readonly { readonly at: number; readonly serviceMs: number; readonly model: number }[];
  readonly #times: SwapTimes;
  readonly #mostTurns: number;
  readonly #coming = new Heap<Turn>((a, b) => a.since < b.since);
  /** By the model that is awake. */
  readonly #awake: Turn[][];
  readonly #come: number[];
  #best: Turn | undefined;
  #turns = 0;

  constructor(arrivals: readonly Arrival[], times: SwapTimes, mostTurns: number) {
    const models = [...new Set(arrivals.map(({ model }) => model))];
    const inOrder = arrivals.toSorted((a, b) => a.at - b.at);
    this.#lines = models.map((name) => inOrder.filter(({ model }) => model === name));
    this.#sums = this.#lines.map((line) =>
      line.reduce<number[]>((sums, { at }) => (sums.push((sums.at(-1) ?? 0) + at), sums), [0]),
    );
    this.#arrivals = inOrder.map(({ at, serviceMs, model }) => ({ at, serviceMs, model: models.indexOf(model) }));
    this.#awake = models.map(() => []);
    this.#come = models.map(() => 0);
    this.#times = times;
    this.#mostTurns = mostTurns;
  }

  run(): Optimum | undefined {
    const none = this.#lines.map(() => 0);
    for (const [model, [first]] of this.#lines.entries())
      if (first !== undefined) this.#send(undefined, model, first.at, none);
    for (const { at, serviceMs, model } of this.#arrivals) {
      this.#bringUntil(at);
      this.#arrive(model, at, serviceMs);
      if (this.#turns > this.#mostTurns) return undefined;
    }
    this.#bringUntil(Number.POSITIVE_INFINITY);
    return this.#best === undefined ? undefined : this.#told(this.#best);
  }

  #send(before: Turn | undefined, on: number, from: number, had: readonly number[]): void {
    const since = from + this.#times.comeMs;
    this.#coming.push({ on, since, had, waitedMs: before?.waitedMs ?? 0, before, doneAt: since });
    this.#turns++;
  }

  /** Those who come before this moment are awake, and grant whoever waits. */
  #bringUntil(moment: number): void {
    while ((this.#coming.first?.since ?? Number.POSITIVE_INFINITY) < moment) {
      const coming = this.#coming.take();
      if (coming === undefined) return;
      const { on, since, had } = coming;
      const [from, to] = [had[on] ?? 0, this.#come[on] ?? 0];
      const longest = Math.max(0, ...(this.#lines[on] ?? []).slice(from, to).map(({ serviceMs }) => serviceMs));
      const waitedMs = coming.waitedMs + this.#waited(on, from, to, since);
      const turn: Turn = { ...coming, waitedMs, doneAt: since + longest };
      if (this.#best !== undefined && this.#best.waitedMs <= waitedMs) continue;
      const others = this.#awake[on] ?? [];
      if (others.some((other) => this.#isAsGood(other, turn, since))) continue;
      this.#awake[on] = [...others.filter((other) => !this.#isAsGood(turn, other, since)), turn];
      this.#leave(turn, since);
      const isLast = this.#lines.every((line, model) => this.#granted(turn, model) === line.length);
      if (isLast) this.#best = turn;
    }
  }

  #arrive(model: number, at: number, serviceMs: number): void {
    const count = (this.#come[model] ?? 0) + 1;
    this.#come[model] = count;
    const isLast = this.#arrivals.length === this.#come.reduce((sum, each) => sum + each, 0);
    for (const turn of this.#awake[model] ?? []) turn.doneAt = Math.max(turn.doneAt, at + serviceMs);
    const left: Turn[] = [];
    for (const turn of this.#awake[model] ?? [])
      if (!left.some((other) => this.#isAsGood(other, turn, at)))
        left.splice(0, left.length, ...left.filter((other) => !this.#isAsGood(turn, other, at)), turn);
    this.#awake[model] = left;
    for (const turn of left) this.#leave(turn, at);
    for (const turn of this.#awake.flat()) {
      if (turn.on !== model && turn.had[model] === count - 1) this.#leave(turn, at, model);
      const complete = isLast && this.#lines.every((line, each) => this.#granted(turn, each) === line.length);
      if (complete && (this.#best === undefined || turn.waitedMs < this.#best.waitedMs)) this.#best = turn;
    }
  }

  /** For each who waits, one way to go on is that the model goes now and that one comes. */
  #leave(turn: Turn, now: number, only?: number): void {
    const had = turn.had.with(turn.on, this.#come[turn.on] ?? 0);
    for (const [model, come] of this.#come.entries()) {
      if (model === turn.on || (only !== undefined && only !== model) || (had[model] ?? 0) >= come) continue;
      this.#send(turn, model, Math.max(now, turn.doneAt) + this.#times.goMs, had);
    }
  }

  #granted(turn: Turn, model: number): number {
    return (turn.on === model ? this.#come[model] : turn.had[model]) ?? 0;
  }

  /**
   * Whether the first can do whatever the second does from now on and nobody waits for longer: it has granted at least as much, is free no later, may
   * send for whomever the second may, and what those whom only the second has still to grant have waited by now makes up for the rest.
   */
  #isAsGood(a: Turn, b: Turn, now: number): boolean {
    if (a.doneAt > Math.max(now, b.doneAt)) return false;
    let owedMs = 0;
    for (const model of this.#lines.keys()) {
      if (model === b.on) continue;
      const [more, less] = [a.had[model] ?? 0, b.had[model] ?? 0];
      const come = this.#come[model] ?? 0;
      if (more < less || (more === come && less < come)) return false;
      owedMs += this.#waited(model, less, more, now);
    }
    return a.waitedMs <= b.waitedMs + owedMs;
  }

  /** What these requests of a model have waited by now, together. */
  #waited(model: number, from: number, to: number, now: number): number {
    const sums = this.#sums[model] ?? [];
    return (to - from) * now - ((sums[to] ?? 0) - (sums[from] ?? 0));
  }

  #told(last: Turn): Optimum {
    const turns: Turn[] = [];
    for (let turn: Turn | undefined = last; turn !== undefined; turn = turn.before) turns.unshift(turn);
    let mostAtOnce = 0;
    for (const [n, { on, since, had }] of turns.entries()) {
      const granted = (this.#lines[on] ?? []).slice(had[on], turns[n + 1]?.had[on]);
      const changes = granted.flatMap(({ at, serviceMs }): [number, 1 | -1][] => {
        const from = Math.max(since, at);
        return [
          [from, 1],
          [from + serviceMs, -1],
        ];
      });
      let atOnce = 0;
      for (const [, change] of changes.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]))
        mostAtOnce = Math.max(mostAtOnce, (atOnce += change));
    }
    return { meanMs: last.waitedMs / this.#arrivals.length, turns: turns.length, mostAtOnce };
  }
}
