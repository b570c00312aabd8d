import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { goOn, standStill } from '../../../src/adapters/standstill.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const stateOf = (pid: number): string => /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1] ?? '';

/** So long the kernel puts off an acknowledgement at most. */
const LATEST_ACK_MS = 200;

test.runIf(process.platform === 'linux')(
  'an engine stands still for longer than an acknowledgement of ours may be put off, and goes on when it is told',
  async ({ expect, onTestFinished }) => {
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    await once(child, 'spawn');
    const { pid = 0 } = child;
    let askedAt = 0;
    await standStill(() => {
      askedAt = performance.now();
      // One that has ended meanwhile is nobody to be stopped.
      return Promise.resolve([pid, 2 ** 22 + 1]);
    });
    expect(performance.now() - askedAt).toBeGreaterThan(LATEST_ACK_MS);
    expect(stateOf(pid)).toBe('T');
    goOn([pid]);
    await waitFor('it to go on', () => stateOf(pid) === 'S');
  },
);
