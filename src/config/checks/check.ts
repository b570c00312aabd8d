import type { Finding } from '../diagnostics.ts';
import type { Path } from '../place.ts';
import type { Config, ConfigWritten, ModelConfig } from '../schema.ts';

/** A config that is right key by key, to be looked at as a whole. */
export type Subject = {
  readonly config: Config;
  /** The same before models took what they inherit. */
  readonly written: ConfigWritten;
  /** Whether somebody wrote what is at this path, rather than leaving the default. */
  readonly wrote: (path: Path) => boolean;
};

export type CheckFinding = Finding & {
  /** The other end of a clash. */
  readonly also?: Path | undefined;
};

export type Check = (subject: Subject) => readonly CheckFinding[];

/** A check that looks at one model at a time. */
export function eachModel(
  look: (name: string, model: ModelConfig, subject: Subject) => readonly CheckFinding[],
): Check {
  return (subject) => Object.entries(subject.config.models).flatMap(([name, model]) => look(name, model, subject));
}
