/** A promise that did not hold in a simulated world. */
class Violation extends Error {
  override readonly name = 'Violation';
}

export function must(holds: boolean, what: string | (() => string)): asserts holds {
  if (!holds) throw new Violation(typeof what === 'string' ? what : what());
}
