import { eachModel, type Check } from './check.ts';

/** A host name or an IPv4 address, or an IPv6 address, which has two colons at least. */
const HOST = /^(?:[A-Za-z0-9_.-]+|(?=.*:.*:)[0-9A-Fa-f:.]+(?:%[\w.-]+)?)$/;

/** Whether only this machine can reach the address. */
const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host);

/** Listening where others can reach is said in so many words. */
export const publicHost: Check = ({ config: { host, insecure_public, keys } }) => {
  if (!HOST.test(host)) {
    const fix = 'Write 127.0.0.1, 0.0.0.0, :: or a host name; the port has a key of its own.';
    return [{ path: ['host'], message: `is "${host}", which is not an address`, fix }];
  }
  if (isLoopback(host) || insecure_public || keys.some(({ infer }) => infer)) return [];
  return [
    {
      path: ['host'],
      message: `is "${host}", which others can reach, and catnap asks nobody for a key`,
      fix: 'Add `keys` (`catnap key` makes one), set "insecure_public": true if the network around it is safe, or use 127.0.0.1.',
      also: ['keys'],
    },
  ];
};

/** A remote model that is catnap itself would be asked for ever. */
export const remoteIsNotUs = eachModel((name, model, { config: { port } }) => {
  if (model.backend !== 'openai_remote') return [];
  const { hostname, port: asked, protocol } = new URL(model.url);
  const itsPort = asked === '' ? (protocol === 'https:' ? 443 : 80) : Number(asked);
  return port === itsPort && isLoopback(hostname.replace(/^\[|\]$/g, ''))
    ? [
        {
          path: ['models', name, 'url'],
          message: 'is the address of this catnap',
          fix: 'Name the other server.',
          also: ['port'],
        },
      ]
    : [];
});
