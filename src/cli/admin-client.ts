import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import type { z } from 'zod';
import { ErrorAnswer } from '../api/admin/contract.ts';
import type { Address } from './address.ts';

/** How long a running catnap may take to answer. It answers from memory. */
const LIMIT_MS = 5_000;

export type Asked<T> =
  | { readonly kind: 'answered'; readonly value: T; readonly raw: unknown }
  | { readonly kind: 'failed'; readonly why: string };

/** Asks a running catnap. What it answers is checked against the contract before anybody relies on it. */
export async function askAdmin<T>(address: Address, path: string, schema: z.ZodType<T>): Promise<Asked<T>> {
  const { url: base, key } = address;
  const url = `${base}${path}`;
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  try {
    const { statusCode, body } = await request(url, {
      headers,
      signal: AbortSignal.timeout(LIMIT_MS),
      ...trusting(address),
    });
    return readAnswer(url, statusCode, await body.text(), schema);
  } catch (error) {
    return { kind: 'failed', why: whyUnreachable(base, error) };
  }
}

/** The certificate in the file is the one to see, whatever name is in it: the address is that of this machine. */
function trusting({ certificate }: Address): { readonly dispatcher?: Agent } {
  if (certificate === undefined) return {};
  const ca = new X509Certificate(readFileSync(certificate)).toString();
  const connect = { ca, allowPartialTrustChain: true, checkServerIdentity: () => undefined };
  return { dispatcher: new Agent({ connect, keepAliveTimeout: 1 }) };
}

function readAnswer<T>(url: string, status: number, text: string, schema: z.ZodType<T>): Asked<T> {
  const raw = parsed(text);
  if (status !== 200) {
    const refusal = ErrorAnswer.safeParse(raw);
    const hint = status === 401 ? ' Here, set CATNAP_KEY to it.' : '';
    const why = refusal.success ? refusal.data.error.message + hint : 'that is not an answer of catnap';
    return { kind: 'failed', why: `${url} answered ${status}: ${why}` };
  }
  const answer = schema.safeParse(raw);
  if (answer.success) return { kind: 'answered', value: answer.data, raw };
  return { kind: 'failed', why: `${url} did not answer as this version of catnap does. Is it another program?` };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function whyUnreachable(base: string, error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return `${base} did not answer within ${LIMIT_MS / 1_000} s`;
  }
  if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') {
    return `no catnap runs at ${base}. Start it with \`catnap\`, or name its address with --url.`;
  }
  return `${base} cannot be reached: ${error instanceof Error ? error.message : String(error)}`;
}
