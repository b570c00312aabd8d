/** How catnap ends. Scripts rely on these numbers. */
export const EXIT = {
  ok: 0,
  /** What was asked about failed. */
  failed: 1,
  /** Bad usage or a bad config. */
  usage: 2,
  /** Our own bug. */
  bug: 70,
} as const;
