import { randomUUID } from 'node:crypto';

/** What may go unchanged into headers, logs and labels. */
const SANE = /^[A-Za-z0-9._:/+=@-]{1,128}$/;

/** The client's own id if it can be passed on as it is, else a new one. */
export function requestId(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && SANE.test(given) ? given : randomUUID();
}
