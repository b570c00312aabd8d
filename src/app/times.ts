/** Times of the config, as the rest of catnap counts them. */
export const ms = (secs: number): number => secs * 1_000;

/** 0 in the config means never. */
export const msOrNever = (secs: number): number => (secs === 0 ? Number.POSITIVE_INFINITY : ms(secs));
