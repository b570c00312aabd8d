import { watchConfig } from '../adapters/config-watch.ts';
import { watchTlsFiles, type TlsPair } from '../adapters/tls-files.ts';
import type { Config } from '../config/schema.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';
import { ms } from './times.ts';

type Watching = {
  /** Those of the config, also those that may come. */
  readonly files: readonly string[];
  readonly clock: Clock;
  readonly reporter: Reporter;
  /** There is another certificate. */
  readonly renewed: (pair: TlsPair) => void;
  /** There is another config. */
  readonly changed: () => void;
};

/** Watches the files that may change while catnap runs: those of its certificate, and of its config where that is wanted. */
export class FileWatch {
  readonly #watching: Watching;
  #certificate: Cancel = () => {};
  #config: Cancel | undefined;

  constructor(watching: Watching) {
    this.#watching = watching;
  }

  /** As this config says from now on. */
  follow(config: Config): void {
    const { files, clock, changed } = this.#watching;
    this.#certificate();
    this.#certificate = this.#followCertificate(config);
    // One that goes on misses nothing that is written meanwhile.
    if (config.watch_config) this.#config ??= watchConfig({ files, clock, changed });
    else this.#leaveConfig();
  }

  stop(): void {
    this.#certificate();
    this.#leaveConfig();
  }

  #leaveConfig(): void {
    this.#config?.();
    this.#config = undefined;
  }

  #followCertificate({ tls }: Config): Cancel {
    if (tls === undefined) return () => {};
    const { clock, reporter, renewed } = this.#watching;
    return watchTlsFiles(tls, {
      everyMs: ms(tls.check_secs),
      clock,
      changed: (pair) => {
        renewed(pair);
        reporter.report({ kind: 'certificate-renewed', file: tls.cert });
      },
      failed: (why) => reporter.report({ kind: 'warned', message: `${why}; the certificate from before stays in use` }),
    });
  }
}
