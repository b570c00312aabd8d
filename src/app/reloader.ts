import type { ReloadEnd, ReloadWish } from '../api/admin/reload.ts';
import { problemText } from '../config/diagnostics.ts';
import type { Loaded } from '../config/load.ts';
import { changesOf, type Changes } from '../config/reload/changes.ts';
import type { Config } from '../config/schema.ts';
import { InvariantBroken } from '../core/kinds.ts';
import type { Reporter } from '../ports/reporter.ts';

export type ReloaderMeans = {
  /** Reads and checks the files as the start does. */
  readonly read: () => Loaded;
  /** The config in use, as it was read. */
  readonly current: () => Config;
  readonly accepting: () => boolean;
  /**
   * Puts another config to use, all of it at one moment, and gives who starts anew now. Rejects when that cannot be, and has changed nothing then.
   * Undefined: catnap has begun to shut down.
   */
  readonly apply: (config: Config, changes: Changes, now: boolean) => Promise<readonly string[] | undefined>;
  readonly reporter: Reporter;
};

type Wanted = { by: string; now: boolean; readonly end: Promise<ReloadEnd> };

/** Reads the config again, once at a time. Whoever asks while that goes on is told of the next time, which is one for all of them. */
export class Reloader {
  readonly #means: ReloaderMeans;
  #last: Promise<unknown> = Promise.resolve();
  #next: Wanted | undefined;

  constructor(means: ReloaderMeans) {
    this.#means = means;
  }

  reload({ by, now }: ReloadWish): Promise<ReloadEnd> {
    if (this.#next !== undefined) {
      this.#next.now ||= now;
      return this.#next.end;
    }
    const end = this.#last.then(() => {
      const wanted = this.#next;
      this.#next = undefined;
      return this.#reload(wanted ?? { by, now });
    });
    this.#next = { by, now, end };
    this.#last = end.catch(() => {});
    return end;
  }

  async #reload({ by, now }: ReloadWish): Promise<ReloadEnd> {
    const { read, current, accepting, apply, reporter } = this.#means;
    const refused = (code: Extract<ReloadEnd, { kind: 'refused' }>['code'], problems: readonly string[]): ReloadEnd => {
      reporter.report({ kind: 'config-refused', by, problems });
      return { kind: 'refused', code, problems };
    };
    if (!accepting()) return refused('shutting_down', [CLOSING]);
    const loaded = read();
    if (loaded.kind === 'absent') return refused('invalid_config', [`there is no ${loaded.lookedFor.join(' or ')}`]);
    if (loaded.kind === 'bad') return refused('invalid_config', loaded.problems.map(problemText));
    const changes = changesOf(current(), loaded.config);
    if (changes.fixed.length > 0) return refused('needs_restart', changes.fixed.map(needsRestart));
    let restarting: readonly string[] | undefined;
    try {
      restarting = await apply(loaded.config, changes, now);
    } catch (error) {
      if (error instanceof InvariantBroken) throw error;
      return refused('invalid_config', [error instanceof Error ? error.message : String(error)]);
    }
    if (restarting === undefined) return refused('shutting_down', [CLOSING]);
    for (const warning of loaded.warnings) reporter.report({ kind: 'warned', message: problemText(warning) });
    reporter.report({ kind: 'config-reloaded', by, changes });
    return { kind: 'done', changes, restarting };
  }
}

const CLOSING = 'catnap is shutting down';

const needsRestart = (key: string): string => `${key}: needs a restart of catnap`;
