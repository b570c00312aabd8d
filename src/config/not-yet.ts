/** Names people know from elsewhere and this version does not have. They get a clear word rather than a guess at a typing error. */

export const NOT_YET_BACKENDS: readonly string[] = ['exllamav3'];

export const NOT_YET_KEYS: ReadonlySet<string> = new Set([
  'stages',
  'triton',
  'capture',
  'eviction',
  'checkpoint_path',
  'object_store',
  'wake',
  'sleep',
  'alive',
]);
