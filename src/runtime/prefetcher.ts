import type { Fact, PrefetchReason } from '../core/facts.ts';
import { Habits } from '../core/habits.ts';
import { after, unreachable, type ModelId, type SleepLevel } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { PageCache, ReadAhead } from '../ports/page-cache.ts';
import type { Reporter } from '../ports/reporter.ts';
import { Alarm } from './alarm.ts';
import type { StageView } from './view.ts';

/** Which of a model's files its engine will read next: its weights, or the image it is restored from. */
export type Wanted = 'weights' | 'image';

export type PrefetcherOptions = {
  readonly clock: Clock;
  readonly pages: PageCache;
  readonly reporter: Reporter;
  readonly bounds: Pick<ReadAhead, 'mostBytes' | 'bytesPerSec' | 'keepFreeBytes'>;
  /** After how long with nothing to do the next model is guessed; undefined: never. */
  readonly guessAfterMs: number | undefined;
  readonly filesOf: (model: ModelId, wanted: Wanted) => Promise<readonly string[]>;
  readonly view: () => StageView;
};

type Reading = { readonly model: ModelId; why: PrefetchReason; readonly stop: AbortController };

/** What was read is taken to be there still for so long. */
const FRESH_MS = 60_000;

/**
 * Has the files of the next model read into the page cache while it cannot come yet: it is summoned and others drain, or somebody has announced it, or it
 * is likely to be next. One model at a time, and the surer one first. It wakes and starts nothing.
 */
export class Prefetcher implements Reporter {
  readonly #options: PrefetcherOptions;
  readonly #habits = new Habits();
  readonly #alarm: Alarm;
  readonly #readAt = new Map<ModelId, number>();
  #reading: Reading | undefined;
  #last: ModelId | undefined;

  constructor(options: PrefetcherOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.#guess());
  }

  report(fact: Fact): void {
    switch (fact.kind) {
      case 'swap-planned':
        // With nobody to go there is no time to gain.
        if (fact.from.length > 0) this.#begin(fact.to, fact.level, 'swap');
        return;
      case 'engine-moved':
        // From now on it reads for itself.
        if (fact.to === 'starting' || fact.to === 'waking') this.#stop(({ model }) => model === fact.model);
        return;
      case 'swap-finished': {
        const { to, result } = fact.record;
        this.#stop(({ model, why }) => model === to && why === 'swap');
        if (result === 'done') this.#follows(to);
        return;
      }
      case 'request-arrived':
        this.#stop(({ why }) => why === 'guessed');
        this.#alarm.set(undefined);
        return;
      case 'request-ended':
        this.#waitForQuiet();
        return;
      default:
    }
  }

  /** Somebody says which model he is going to ask for. */
  announce(model: ModelId): void {
    const seen = this.#options.view().models.find((one) => one.model === model);
    if (seen === undefined || seen.part !== 'out') return;
    const depths = seen.engines.map(({ phase }) => (phase.kind === 'asleep' ? phase.level : 5));
    if (this.#reading !== undefined && this.#reading.model !== model && this.#reading.why !== 'guessed')
      this.#options.reporter.report({ kind: 'next-ignored', name: model, reason: 'busy' });
    else this.#begin(model, depths[0] ?? 5, 'announced');
  }

  close(): void {
    this.#alarm.set(undefined);
    this.#stop(() => true);
  }

  #begin(model: ModelId, level: SleepLevel, why: PrefetchReason): void {
    const wanted = wantedAt(level);
    if (wanted === undefined) return;
    if (this.#reading?.model === model) {
      if (this.#reading.why !== 'swap') this.#reading.why = why;
      return;
    }
    this.#stop(() => true);
    if (this.#options.clock.now() - (this.#readAt.get(model) ?? Number.NEGATIVE_INFINITY) < FRESH_MS) return;
    const reading: Reading = { model, why, stop: new AbortController() };
    this.#reading = reading;
    void this.#read(reading, wanted);
  }

  async #read(reading: Reading, wanted: Wanted): Promise<void> {
    const { clock, pages, bounds, filesOf, view, reporter } = this.#options;
    const { model, stop } = reading;
    const from = clock.now();
    const files = await filesOf(model, wanted).catch(() => []);
    const spare = (): readonly number[] =>
      view().models.flatMap((one) => (one.inFlight > 0 ? pidsOf(one.engines) : []));
    const { end, bytes, reason } = await pages.readAhead({ files, ...bounds, spare, signal: stop.signal });
    if (this.#reading === reading) this.#reading = undefined;
    if (end === 'whole') this.#readAt.set(model, clock.now());
    if (files.length === 0) return;
    reporter.report({ kind: 'prefetch-ended', model, why: reading.why, end, bytes, ms: clock.now() - from, reason });
  }

  #stop(isMeant: (reading: Reading) => boolean): void {
    const reading = this.#reading;
    if (reading === undefined || !isMeant(reading)) return;
    this.#reading = undefined;
    reading.stop.abort();
  }

  #follows(next: ModelId): void {
    const last = this.#last;
    this.#last = next;
    if (this.#options.guessAfterMs === undefined) return;
    if (last !== undefined && last !== next) this.#habits.followed(last, next, this.#hour);
    this.#waitForQuiet();
  }

  #waitForQuiet(): void {
    const { clock, guessAfterMs } = this.#options;
    if (guessAfterMs !== undefined) this.#alarm.set(after(clock.now(), guessAfterMs));
  }

  #guess(): void {
    const { models } = this.#options.view();
    const busy = models.some(({ waiting, inFlight }) => waiting > 0 || inFlight > 0);
    const next = this.#last === undefined ? undefined : this.#habits.guess(this.#last, this.#hour);
    const seen = models.find(({ model }) => model === next);
    if (busy || seen?.part !== 'out' || this.#reading !== undefined) return;
    const [first] = seen.engines;
    this.#begin(seen.model, first?.phase.kind === 'asleep' ? first.phase.level : 5, 'guessed');
  }

  get #hour(): number {
    return this.#options.clock.wallTime().getHours();
  }
}

const pidsOf = (engines: StageView['models'][number]['engines']): readonly number[] =>
  engines.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));

/** What an engine that comes back from a level reads from disk; undefined: nothing. */
function wantedAt(level: SleepLevel): Wanted | undefined {
  switch (level) {
    case 1:
    case 3:
      return undefined;
    case 4:
      return 'image';
    case 2:
    case 'hybrid':
    case 5:
      return 'weights';
    default:
      return unreachable(level);
  }
}
