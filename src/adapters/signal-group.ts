import { codeOf } from './system-error.ts';

/** Signals a whole process group and says whether there is one; a group that may not be signalled is there. 0 only looks. */
export function signalGroup(group: number, name: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  try {
    process.kill(-group, name);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}
