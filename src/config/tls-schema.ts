import { z } from 'zod';
import { key, path, seconds } from './fields.ts';

export const TlsSchema = z.strictObject({
  cert: key(path(), 'The file with the certificate, followed by those between it and its authority, in PEM.'),
  key: key(path(), 'The file with its private key, in PEM and without a passphrase.'),
  check_secs: key(
    seconds(0.05, 3_600).default(10),
    'How often catnap looks whether the files have changed. New ones are used for new connections; ones that do not fit are told and not used.',
  ),
});
