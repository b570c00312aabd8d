import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseStat } from '../../src/adapters/process-table.ts';
import { waitFor } from './wait-for.ts';

/** A folder of a test's own. Whatever names it on its command line or in its environment belongs to that test. */
export function testFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'catnap-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Every living process but this one whose command line or environment holds the text. */
export function survivors(text: string): readonly { readonly pid: number; readonly command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const command = read(`/proc/${pid}/cmdline`);
      const holds = command.includes(text) || read(`/proc/${pid}/environ`).includes(text);
      return holds && isAlive(pid) ? [{ pid: Number(pid), command: command.replaceAll('\0', ' ').trim() }] : [];
    });
}

/** The same, but for what this process of them has started as a part of itself. */
export const survivorsBeside = (text: string, own: number): readonly number[] =>
  survivors(text).flatMap(({ pid, command }) => {
    const isPart = command.includes('starter-process') && parseStat(read(`/proc/${pid}/stat`))?.parent === own;
    return isPart ? [] : [pid];
  });

/** Waits until nobody is left and rejects with who is. What has been signalled may still be on its way out. */
export async function noSurvivors(text: string, within = 30_000): Promise<void> {
  await waitFor('the end of every process', () => survivors(text).length === 0, { within }).catch(() => {
    const left = survivors(text).map(({ pid, command }) => `${pid} ${command}`);
    throw new Error(`left running: ${left.join('; ')}`);
  });
}

/** Kills whoever is left, for the end of a test that has failed. */
export function killSurvivors(text: string): void {
  for (const { pid } of survivors(text)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it was faster
    }
  }
}

function isAlive(pid: string): boolean {
  const stat = read(`/proc/${pid}/stat`);
  return stat !== '' && !/^[ZXx]/.test(stat.slice(stat.lastIndexOf(')') + 2));
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // it has ended
  }
}
