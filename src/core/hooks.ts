type HookRow = {
  /** What becomes of the engine when the hook fails and that is fatal; undefined: it is told, and nothing else. */
  readonly fatal: string | undefined;
};

/** The moments at which an operator's own command or call is run, and what its failure can mean. */
export const HOOKS = {
  before_start: { fatal: 'the start has failed' },
  after_start: { fatal: 'the start has failed, and the engine is ended' },
  before_sleep: { fatal: 'it goes deeper instead' },
  after_sleep: { fatal: 'it goes deeper instead' },
  before_wake: { fatal: 'it is ended and started afresh' },
  after_wake: { fatal: 'it is ended and started afresh' },
  before_stop: { fatal: undefined },
  after_stop: { fatal: undefined },
} as const satisfies Record<string, HookRow>;

export type HookName = keyof typeof HOOKS;

export type HookResult = 'done' | 'failed' | 'withdrawn';
