import { spawn } from 'node:child_process';
import { BY_SUDO } from './by-sudo.ts';
import { codeOf } from './system-error.ts';

/** Groups that sudo is about to signal. */
const underWay = new Set<string>();

/**
 * Signals a whole process group and says whether there is one; a group that may not be signalled is there. 0 only looks.
 * What was started by sudo is root's and hears nobody else: sudo is asked to signal it, and whoever waits for its end sees whether it did.
 */
export function signalGroup(group: number, name: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  try {
    process.kill(-group, name);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EPERM' && name !== 0) signalBySudo(group, name);
    return codeOf(error) !== 'ESRCH';
  }
}

/** Also from exit handlers, so it is only begun. Callers ask again and again; one at a time is enough. */
function signalBySudo(group: number, name: 'SIGTERM' | 'SIGKILL'): void {
  const what = `${name} ${group}`;
  if (underWay.has(what)) return;
  underWay.add(what);
  const over = (): void => void underWay.delete(what);
  const [program, ...words] = [...BY_SUDO, 'kill', `-${name.slice('SIG'.length)}`, '--', `-${group}`];
  const asked = spawn(program, words, { stdio: 'ignore', detached: true });
  asked.once('error', over).once('exit', over);
  asked.unref();
}
