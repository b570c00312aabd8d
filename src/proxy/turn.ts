/**
 * Runs it when everything that had come in was read. What is written then is written together: the first write of many wakes
 * the other side, and waking it costs several times what a write does.
 */
export function atTurnEnd(run: () => void): void {
  // oxlint-disable-next-line eslint/no-restricted-globals -- about the order within one turn of the event loop, not about time
  setImmediate(run);
}
