import type { ProcessModel } from '../config/schema.ts';
import type { OwnSleep, Sleeps } from '../engines/sleeper.ts';
import { Levels } from '../sleep/levels.ts';

/** The levels that the engines of a model have. */
export function levelsOf(_config: ProcessModel, _own: OwnSleep | undefined): Sleeps {
  return new Levels([]);
}
