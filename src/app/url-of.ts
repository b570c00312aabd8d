import type { TlsPair } from '../adapters/tls-files.ts';

export function urlOf(host: string, port: number, tls?: TlsPair): string {
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
