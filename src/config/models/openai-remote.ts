import { z } from 'zod';
import { key } from '../fields.ts';
import { engineKey, everyModel } from './shared.ts';

/** What of an address cannot be kept, said as what to change. */
function flaw(url: URL): string | undefined {
  if (url.username !== '' || url.password !== '') return 'must not hold a user or password: put the key in `api_key`';
  if (url.search !== '' || url.hash !== '') return 'must not have a query or a fragment';
  return undefined;
}

const baseUrl = () =>
  z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }).transform((value, context) => {
    const url = new URL(value);
    const wrong = flaw(url);
    if (wrong !== undefined) context.addIssue({ code: 'custom', message: wrong });
    return url.origin + url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  });

/** A model that is served elsewhere: requests are passed on with a key of ours. It is always awake and costs no room. */
export const openaiRemote = z
  .strictObject({
    backend: key(z.literal('openai_remote'), 'A server that runs elsewhere.'),
    url: key(baseUrl(), 'Its base address, with or without `/v1`.', { examples: ['https://api.example.com/v1'] }),
    ...engineKey('The key it is sent.'),
    ...everyModel,
  })
  .meta({ description: 'A model that is served elsewhere: requests are passed on. It is always awake.' });
