import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What a person or a supervisor sends to a catnap, and what it must therefore get. */
const PASSED_ON = /** @type {const} */ (['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR2']);
const OUTPUT_MAX = 64 * 1024;

/**
 * Runs a program on this terminal until it ends, and then ends this process in the same way: with its exit code or by its signal.
 * Signals are passed on, except what a terminal tells every process of it: Ctrl+C, and that it goes away.
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {Promise<void>}
 */
export function becomeChild(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit' });
    const listeners = PASSED_ON.map((signal) => {
      const pass = () => {
        if (!comesFromTerminal(signal)) child.kill(signal);
      };
      process.on(signal, pass);
      return /** @type {const} */ ([signal, pass]);
    });
    const stopListening = () => listeners.forEach(([signal, pass]) => process.removeListener(signal, pass));
    child.once('error', (error) => {
      stopListening();
      reject(error);
    });
    child.once('exit', (code, signal) => {
      stopListening();
      if (signal === null) process.exitCode = code ?? 1;
      else process.kill(process.pid, signal);
      resolve();
    });
  });
}

const terminal = ourTerminal();

/** @param {NodeJS.Signals} signal */
function comesFromTerminal(signal) {
  if (signal === 'SIGINT') return ourTerminal().inForeground;
  // A terminal that has gone away can no longer be asked for.
  return signal === 'SIGHUP' && terminal.there;
}

/**
 * The terminal that this process belongs to, and whether a Ctrl+C there is meant for us.
 * @returns {{there: boolean, inForeground: boolean}}
 */
export function ourTerminal() {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8').replace(/^.*\) /s, '');
    const [, , group, , device, foreground] = stat.split(' ');
    return { there: device !== '0', inForeground: group === foreground };
  } catch {
    const there = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
    return { there, inForeground: there };
  }
}

/**
 * Runs a program quietly to its end. What it printed is kept, bounded, for the case that it failed. It leads a process group, so
 * that giving up ends what it has started, too.
 * @param {readonly [string, ...string[]]} command
 * @param {{cwd: string, env?: NodeJS.ProcessEnv, signal: AbortSignal, limitMs: number}} terms
 * @returns {Promise<{ok: boolean, output: string}>}
 */
export function runQuietly([program, ...args], { cwd, env = process.env, signal, limitMs }) {
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const giveUp = () => killGroup(child.pid);
    const limit = setTimeout(() => {
      output += `\n${program} was ended because it took longer than ${limitMs / 1000} s`;
      giveUp();
    }, limitMs);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
    /** @param {boolean} ok */
    const end = (ok) => {
      clearTimeout(limit);
      signal.removeEventListener('abort', giveUp);
      resolve({ ok, output });
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-OUTPUT_MAX)));
    }
    child.once('error', (error) => {
      output += `\n${program}: ${error.message}`;
      if (child.pid === undefined) end(false);
    });
    child.once('close', (code) => end(code === 0));
  });
}

/** @param {number | undefined} leader */
function killGroup(leader) {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
