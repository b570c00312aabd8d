/** A stream of numbers in [0, 1) that depends on nothing but its name: the same name gives the same numbers everywhere. */
type RandomStream = () => number;

export function randomStream(name: string): RandomStream {
  let state = fnv1a(name);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Numbers with a mean of zero and this standard deviation, evenly spread. */
export function spread(random: RandomStream, deviation: number): number {
  return (random() * 2 - 1) * Math.sqrt(3) * deviation;
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash;
}
