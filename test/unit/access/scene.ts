import type { IncomingMessage } from 'node:http';
import { Door, type DoorTerms, type Entry } from '../../../src/access/door.ts';
import { fastHash } from '../../../src/access/proof.ts';
import type { KeyConfig } from '../../../src/config/schema.ts';
import { goodConfig } from '../../helpers/config.ts';
import { StillClock } from '../../helpers/still-clock.ts';

/** What the clients of these tests send. */
export const TOKENS = { app: 'catnap_app-0123456789', boss: 'catnap_boss-0123456789', wrong: 'catnap_wrong-012345' };

type Written = { readonly name: string } & Readonly<Record<string, unknown>>;

/** Keys as the config gives them. */
export const keysOf = (...keys: readonly Written[]): readonly KeyConfig[] =>
  goodConfig({ models: { alpha: { backend: 'stub' }, beta: { backend: 'stub' } }, keys }).keys;

export const APP: Written = { name: 'app', hash: fastHash(TOKENS.app) };
export const BOSS: Written = { name: 'boss', hash: fastHash(TOKENS.boss), admin: true };

export function openDoor(terms: Partial<DoorTerms> = {}): Door {
  return new Door({ keys: [], hosts: ['catnap.example.org'], corsOrigins: [], clock: new StillClock(), ...terms });
}

export type Asking = {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly peer?: string;
  readonly rawHeaders?: readonly string[];
};

/** A request as far as the door looks at it. */
function request({ method = 'GET', url = '/', headers = {}, peer = '127.0.0.1', rawHeaders }: Asking) {
  const all = { host: 'localhost:3000', ...headers };
  const raw = rawHeaders ?? Object.entries(all).flat();
  const req = { method, url, headers: all, rawHeaders: raw, socket: { remoteAddress: peer } };
  return req as unknown as IncomingMessage;
}

export async function knock(door: Door, asking: Asking): Promise<Entry> {
  return door.enter(request(asking));
}

/** What it comes to: let in, or the code of the error. */
export const verdict = async (door: Door, asking: Asking): Promise<string> =>
  (await knock(door, asking)).denial?.code ?? 'in';

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
