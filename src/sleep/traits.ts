import type { NapLevel } from '../core/kinds.ts';

/** What stays where while an engine sleeps, and what it still has when it wakes. */
export type LevelTraits = {
  /** `context`: what the driver and the graphs of the engine take, some hundred MiB to some GiB. */
  readonly gpu: 'context' | 'nothing';
  readonly host: 'weights' | 'gpu-state' | 'nothing';
  readonly disk: 'image' | 'nothing';
  /** At least: an image of a process that was not put to sleep first has all of it. */
  readonly preserves: readonly ('process' | 'weights' | 'kv-cache' | 'graphs')[];
  /** Whether there is a process while it sleeps. */
  readonly lives: boolean;
  /** Whether the sleeping process can act on SIGTERM. One that cannot is killed at once when it has to go. */
  readonly hearsSignals: boolean;
};

export const LEVEL_TRAITS: Readonly<Record<NapLevel, LevelTraits>> = {
  1: {
    gpu: 'context',
    host: 'weights',
    disk: 'nothing',
    preserves: ['process', 'weights', 'graphs'],
    lives: true,
    hearsSignals: true,
  },
  2: {
    gpu: 'context',
    host: 'nothing',
    disk: 'nothing',
    preserves: ['process', 'graphs'],
    lives: true,
    hearsSignals: true,
  },
  3: {
    gpu: 'nothing',
    host: 'gpu-state',
    disk: 'nothing',
    preserves: ['process', 'weights', 'kv-cache', 'graphs'],
    lives: true,
    hearsSignals: false,
  },
  hybrid: {
    gpu: 'nothing',
    host: 'gpu-state',
    disk: 'nothing',
    preserves: ['process'],
    lives: true,
    hearsSignals: false,
  },
  4: {
    gpu: 'nothing',
    host: 'nothing',
    disk: 'image',
    preserves: ['process', 'graphs'],
    lives: false,
    hearsSignals: false,
  },
};
