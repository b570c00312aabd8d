/**
 * What a load asks to be different from the config for this once, by the names of the config's keys.
 * A key that is there counts, also when its value is null: then it is as if the config did not have it.
 */
export type LoadOverride = Readonly<Record<string, string | number | null>>;
