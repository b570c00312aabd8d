import type { Exit } from '../ports/process.ts';
import type { ProcessId, ProcessTable } from './process-table.ts';

const LOOK_EVERY_MS = 100;

/**
 * The end of a process that is no child of ours. The kernel tells that to its parent alone, so its line of the process table is looked at, which takes some
 * microseconds. One that has ended already, or whose number is somebody else's by now, ends at once.
 */
export function exitOf({ pid, started }: ProcessId, table: ProcessTable): Promise<Exit> {
  return new Promise((resolve) => {
    const look = (): void => {
      const stat = table.look(pid);
      if (stat?.started === started && stat.alive) return;
      clearInterval(timer);
      resolve({ code: null, signal: null });
    };
    const timer = setInterval(look, LOOK_EVERY_MS);
    timer.unref();
    look();
  });
}
