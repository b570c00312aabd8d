import type { Body } from './outflow.ts';

/** What puts an engine away, wakes it or ends it. Only the stage may, whoever asks. */
const STAGE_ONLY = new Set([
  'release_memory_occupation',
  'resume_memory_occupation',
  'scale_elastic_ep',
  'shutdown',
  'sleep',
  'wake_up',
]);
const RPC = 'collective_rpc';
/** A call is a few words. */
const MOST_RPC_BYTES = 65_536;
/** The methods of a worker that may be called from outside: they neither free its memory nor fill it. */
const MOVES_WEIGHTS = /sleep|wake|load|init|shutdown|memory|device/i;

/** What an operator may have passed on to an engine that controls it: `never`, or `checked` where its body decides. */
export function steering(parts: readonly string[]): 'passed on' | 'checked' | 'never' {
  const first = (parts[0] === 'v1' ? parts[1] : parts[0]) ?? '';
  if (STAGE_ONLY.has(first)) return 'never';
  return first === RPC ? 'checked' : 'passed on';
}

/** Whether a remote call names one method, and one that leaves the weights where they are. */
export function isHarmlessCall({ chunks, bytes }: Body): boolean {
  if (bytes > MOST_RPC_BYTES || chunks === undefined) return false;
  try {
    const call: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (typeof call !== 'object' || call === null || !('method' in call)) return false;
    return typeof call.method === 'string' && !MOVES_WEIGHTS.test(call.method);
  } catch {
    return false;
  }
}
