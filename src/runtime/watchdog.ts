import { soonest, after, FOREVER, type EngineId, type Millis } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import { Alarm } from './alarm.ts';
import type { EngineActor } from './engine-actor.ts';
import type { OpenLease } from './lease.ts';

export type Watched = {
  readonly actor: EngineActor;
  /** How long an engine may hold leases and send nothing before it must prove itself. Infinite: it is not watched. */
  readonly stallMs: number;
  /** How long the proof may take. */
  readonly proofMs: number;
};

export type WatchdogOptions = {
  readonly clock: Clock;
  readonly leases: () => Iterable<OpenLease>;
};

/**
 * Finds engines that hold leases and do nothing. A health endpoint answers long after the engine behind it has hung, so it is not asked:
 * the engine must do a token's worth of work, or show progress of its own. One that cannot is restarted.
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #byEngine = new Map<EngineId, Watched>();
  readonly #alarm: Alarm;
  /** When each engine last proved that it works. */
  readonly #proved = new Map<EngineId, Millis>();
  readonly #proving = new Set<EngineId>();
  #soonestStall = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.#look());
  }

  /** From now on, or by other terms than before. */
  watch(watched: Watched): void {
    this.#byEngine.set(watched.actor.id, watched);
    this.#soonestStall = Math.min(...Array.from(this.#byEngine.values(), ({ stallMs }) => stallMs));
  }

  /** It is no more. */
  forget(engine: EngineId): void {
    this.#byEngine.delete(engine);
    this.#proved.delete(engine);
  }

  /** Called whenever a lease was granted, so it is cheap: the alarm is only moved when it would ring too late for the new one. */
  wake(): void {
    if (this.#stopped) return;
    const due = after(this.#options.clock.now(), this.#soonestStall);
    if (due < (this.#alarm.at ?? FOREVER)) this.#alarm.set(due);
  }

  stop(): void {
    this.#stopped = true;
    this.#alarm.set(undefined);
  }

  #look(): void {
    const now = this.#options.clock.now();
    let next: Millis | undefined;
    for (const [engine, heard] of this.#lastHeard()) {
      const watched = this.#byEngine.get(engine);
      if (watched === undefined || this.#proving.has(engine)) continue;
      const due = after(heard, watched.stallMs);
      if (due > now) next = soonest(next, due);
      else void this.#prove(watched);
    }
    this.#alarm.set(next);
  }

  /** The latest sign of life of each engine that holds leases. */
  #lastHeard(): ReadonlyMap<EngineId, Millis> {
    const latest = new Map<EngineId, Millis>();
    for (const { engine, lastHeard, standsStill } of this.#options.leases()) {
      if (standsStill) continue;
      const known = latest.get(engine) ?? this.#proved.get(engine);
      latest.set(engine, known === undefined || lastHeard > known ? lastHeard : known);
    }
    return latest;
  }

  async #prove({ actor, stallMs, proofMs }: Watched): Promise<void> {
    const { clock } = this.#options;
    const { born } = actor.engine;
    const limit = new AbortController();
    const cancel = clock.at(after(clock.now(), proofMs), () => limit.abort(new Error('no proof in time')));
    this.#proving.add(actor.id);
    const alive = await Promise.race([actor.driver.prove(limit.signal).catch(() => false), whenAborted(limit.signal)]);
    cancel();
    this.#proving.delete(actor.id);
    if (this.#stopped) return;
    if (alive) this.#proved.set(actor.id, clock.now());
    else
      actor.unresponsive(
        born,
        `it sent nothing for ${stallMs / 1000} s and could not do a token's worth of work in ${proofMs / 1000} s`,
      );
    this.#look();
  }
}

function whenAborted(signal: AbortSignal): Promise<false> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(false), { once: true }));
}
