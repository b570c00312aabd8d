/** The value below which the share `q` of the samples lies, read between the two nearest. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * q;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) throw new Error('there are no samples');
  return below + (above - below) * (place - Math.floor(place));
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/**
 * Where the median of what the samples were drawn from lies with 95 % confidence. It goes by ranks alone,
 * so it holds for any distribution, however long its tail.
 */
export function medianInterval(samples: readonly number[]): readonly [number, number] {
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)));
  const [low, high] = [sorted[rank - 1], sorted[sorted.length - rank]];
  if (low === undefined || high === undefined) throw new Error('there are no samples');
  return [low, high];
}
