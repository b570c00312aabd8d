/** A binary heap: whoever is before all others comes out first. */
export class Heap<T> {
  readonly #isBefore: (a: T, b: T) => boolean;
  readonly #items: T[] = [];

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const above = (at - 1) >>> 1;
      const other = items[above];
      if (other === undefined || !this.#isBefore(item, other)) break;
      items[at] = other;
      at = above;
    }
    items[at] = item;
  }

  take(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = items[2 * at + 1];
      const right = items[2 * at + 2];
      if (left === undefined) break;
      const below = right !== undefined && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(below, last)) break;
      items[at] = below;
      at = below === left ? 2 * at + 1 : 2 * at + 2;
    }
    items[at] = last;
    return first;
  }

  clear(): void {
    this.#items.length = 0;
  }
}
