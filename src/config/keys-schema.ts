import { z } from 'zod';
import { PRIORITIES } from '../core/place.ts';
import { count, key, path, port, text } from './fields.ts';
import { parseKeyHash } from './key-hash.ts';
import { TlsSchema } from './tls-schema.ts';

/** Names go into logs, headers and metric labels. */
const keyName = () => z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$/, 'must be 1 to 64 of A-Z a-z 0-9 _ . @ -');

const isHash = (value: string): boolean => parseKeyHash(value) !== undefined;

/** The names of models that a key may ask for; `*` stands for any text. */
const modelGlob = () =>
  z.string().regex(/^[A-Za-z0-9_.:/@+*-]{1,200}$/, 'must be the name of a model, in which `*` stands for any text');

export const KeySchema = z.strictObject({
  name: key(keyName(), 'What logs and metrics call it.'),
  hash: key(
    text().refine(isHash, 'must be a hash that `catnap key` made: sha256: and 64 hex digits, or scrypt:').optional(),
    'The hash of the key: `catnap key NAME` makes a key and prints it with its hash. The key itself stands nowhere.',
    { examples: ['sha256:5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5'] },
  ),
  key_env: key(text().optional(), 'The environment variable that holds the key, in place of `hash`.'),
  key_file: key(path().optional(), 'The file that holds the key, in place of `hash`.'),
  models: key(
    z.array(modelGlob()).min(1).max(1_000).default(['*']),
    'The models and aliases it may ask for; `*` stands for any text. The others are 404 to it and not listed.',
    { examples: [['qwen3-*', 'embedder']] },
  ),
  infer: key(z.boolean().default(true), 'Whether it may ask models.'),
  may_swap: key(
    z.boolean().default(true),
    'Whether its requests may wake a model. With `false` they are served while their model is awake or on its way, and are 409 `model_not_loaded` otherwise: for health checks and batches that must disturb nobody.',
  ),
  priority: key(
    z.enum(PRIORITIES).optional(),
    'How urgent its requests are. With `x-catnap-priority` one may ask for less.',
    { default_text: '`normal`, and what `policy.max_header_priority` lets a request ask for' },
  ),
  admin: key(z.boolean().default(false), 'Whether it may steer catnap: everything of the class `admin`.'),
  max_in_flight: key(
    count(1, 1_000_000).optional(),
    'How many of its requests may wait or be served at a time. More are answered 429.',
    { default_text: 'any number' },
  ),
  requests_per_second: key(
    z.number().min(0.001).max(1_000_000).optional(),
    'How many requests it may make per second, over time. More are answered 429 with `Retry-After`.',
    { default_text: 'any number' },
  ),
  burst: key(count(1, 1_000_000).optional(), 'How many of them may come at once after a pause.', {
    default_text: '`requests_per_second`, rounded up',
  }),
});

export type KeyWritten = z.output<typeof KeySchema>;

/** A name as it stands in `Host`, without a port. */
const hostName = () =>
  z.string().regex(/^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?$/, 'must be a host name without a port');

/** Who may use catnap. */
export const admittance = {
  keys: key(
    z.array(KeySchema).max(1_000).default([]),
    'The keys of clients. As long as none has `infer`, everybody who reaches the port may ask models; as long as none has `admin`, everybody on this machine may steer catnap, and nobody else.',
  ),
  allowed_hosts: key(
    z.array(hostName()).max(100).default([]),
    'Names under which catnap is reached, such as the public name of a reverse proxy before it. Addresses, names without a dot and private names need not be listed. The class `admin` answers under no other name.',
    { examples: [['llm.example.org']] },
  ),
  admin_port: key(
    port().nullable().default(null),
    'A port of its own for the class `admin`, which then answers there and no longer on the main port. It is on `host` too.',
    { default_text: '`null`: on the main port' },
  ),
  tls: key(TlsSchema.optional(), 'With it the main port and `admin_port` speak HTTPS, and nothing else.', {
    default_text: 'plain HTTP',
  }),
};
