import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv4, isIPv6 } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const isLoopback = (address: string): boolean => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (isIPv4(plain)) return LOOPBACK.check(plain, 'ipv4');
  return isIPv6(plain) && LOOPBACK.check(plain, 'ipv6');
};

/** What a proxy adds to requests that are not its own. */
const BY_PROXIES = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'cf-connecting-ip',
] as const;

/** Whether a request was made on this machine: it came from here, and not from a proxy here that asks for somebody else. */
export function isFromHere({ socket, headers }: IncomingMessage): boolean {
  return isLoopback(socket.remoteAddress ?? '') && BY_PROXIES.every((name) => headers[name] === undefined);
}
