import { Random } from '../../src/simulate/random.ts';
import type { Machine } from './machine.ts';

/** Takes away what engines sleep in, again and again. It draws from numbers of its own, so that other worlds stay as they are. */
export function loseSleeps(
  seed: number,
  spanMs: number,
  later: (ms: number, run: () => void) => void,
  machines: () => Iterable<Machine>,
): void {
  const random = new Random(seed ^ 0x1f83d9ab);
  for (let left = random.int(5, 40); left > 0; left--) {
    later(random.between(0, spanMs), () => {
      const late = random.chance(0.5) ? 0 : random.around(random.pick([1_000, 60_000]));
      random.anyOf([...machines()])?.loseSleep(late);
    });
  }
}
