import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Which side of the bench a process is on: what is measured has a core of its own. */
export type Side = 'measured' | 'rest' | 'anywhere';

const CORES: Readonly<Record<Side, string | undefined>> = { rest: '0', measured: '1', anywhere: undefined };

/** Whether processes can be kept on one core each. */
export const canPin = availableParallelism() > 1 && hasProgram('taskset');

export function hasProgram(name: string): boolean {
  return pathOf(name) !== undefined;
}

/** Where a program of this name lies on the PATH. */
export function pathOf(name: string): string | undefined {
  try {
    return execFileSync('/bin/sh', ['-c', 'command -v -- "$1"', 'sh', name], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

const started = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of started) killGroup(child, 'SIGKILL');
});

/** Starts a program in a process group of its own, on the core of its side. Its output is dropped unless it is read. */
export function startPinned(
  side: Side,
  [program, ...args]: readonly [string, ...string[]],
  output: 'dropped' | 'read' = 'dropped',
): ChildProcess {
  const core = canPin ? CORES[side] : undefined;
  const command: readonly string[] =
    core === undefined ? [program, ...args] : ['taskset', '-c', core, program, ...args];
  const child = spawn(command[0] ?? program, command.slice(1), {
    detached: true,
    stdio: output === 'read' ? ['pipe', 'pipe', 'inherit'] : ['ignore', 'ignore', 'ignore'],
  });
  // Why it did not start is told by whoever waits for it.
  child.on('error', () => {});
  started.add(child);
  child.once('exit', () => started.delete(child));
  return child;
}

/** Ends a program with all it has started. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  killGroup(child, 'SIGTERM');
  const timer = setTimeout(() => killGroup(child, 'SIGKILL'), 5_000);
  await ended;
  clearTimeout(timer);
  killGroup(child, 'SIGKILL');
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended already.
  }
}

/** CPU time of a process and all below it, in microseconds. */
export function cpuMicros(child: ChildProcess): number {
  const nanos = familyOf(child).flatMap((pid) =>
    list(`/proc/${pid}/task`).map((task) => Number(read(`/proc/${pid}/task/${task}/schedstat`).split(' ')[0])),
  );
  return nanos.reduce((sum, one) => sum + one, 0) / 1_000;
}

/** Memory of a process and all below it in bytes; what they share with others counts by their share. */
export function pssBytes(child: ChildProcess): number {
  const kib = familyOf(child).map((pid) => Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0));
  return kib.reduce((sum, one) => sum + one, 0) * 1_024;
}

function familyOf({ pid }: ChildProcess): number[] {
  if (pid === undefined) return [];
  const family = [pid];
  for (const member of family) {
    for (const task of list(`/proc/${member}/task`)) {
      family.push(...read(`/proc/${member}/task/${task}/children`).split(' ').filter(Boolean).map(Number));
    }
  }
  return family;
}

/** A process may end while it is looked at; what is gone reads as nothing. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
