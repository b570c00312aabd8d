import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
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
  try {
    const { statusCode, body } = await request(url, {
      headers: bearer(key),
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

/** Gives an order to a running catnap and waits for its end, however long that takes: catnap bounds it. */
export async function tellAdmin<T>(
  address: Address,
  path: string,
  body: object | undefined,
  schema: z.ZodType<T>,
  method: 'POST' | 'DELETE' = 'POST',
): Promise<Asked<T>> {
  const { url: base, key } = address;
  const url = `${base}${path}`;
  try {
    const answer = await request(url, {
      method,
      headers: { 'content-type': 'application/json', ...bearer(key) },
      body: JSON.stringify(body ?? {}),
      headersTimeout: 0,
      bodyTimeout: 0,
      ...trusting(address),
    });
    return readAnswer(url, answer.statusCode, await answer.body.text(), schema);
  } catch (error) {
    return { kind: 'failed', why: whyUnreachable(base, error) };
  }
}

/** Reads an answer line by line for as long as it goes on. Undefined when it came to its end, else what went wrong. */
export async function readFromAdmin(
  address: Address,
  path: string,
  show: (line: string) => void,
): Promise<string | undefined> {
  const { url: base, key } = address;
  const url = `${base}${path}`;
  let begun = false;
  try {
    const { statusCode, body } = await request(url, {
      headers: bearer(key),
      headersTimeout: LIMIT_MS,
      bodyTimeout: 0,
      ...trusting(address),
    });
    if (statusCode !== 200) {
      const asked = readAnswer(url, statusCode, await body.text(), ErrorAnswer);
      return asked.kind === 'failed' ? asked.why : undefined;
    }
    begun = true;
    for await (const line of createInterface({ input: body })) show(line);
    return undefined;
  } catch (error) {
    // It has ended, and with it what there was to read.
    return begun ? undefined : whyUnreachable(base, error);
  }
}

const bearer = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };

function readAnswer<T>(url: string, status: number, text: string, schema: z.ZodType<T>): Asked<T> {
  const raw = parsed(text);
  if (status !== 200 && status !== 202) {
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
