import { ERRORS, type Fault } from '../../src/core/errors.ts';
import { code, page, table } from './markdown.ts';

const FAULTS: Readonly<Record<Fault, string>> = {
  client: 'the request',
  load: 'too much at once',
  operator: 'an operator or the config',
  engine: 'the engine',
  us: 'catnap',
};

/** docs/errors.md: every error that catnap answers itself. */
export const errorsPage = (): string =>
  page(
    '# Errors',
    'These are the errors that catnap answers itself. Their code is in the body (`error.code`) and in the header `x-catnap-error`. What an engine answers is passed on as it is and has no such header.',
    'An error with "no" under "again" carries `x-should-retry: false`: the same request fails again.',
    table(
      ['Code', 'Status', 'Type', 'Lies with', 'Again', 'Meaning'],
      Object.entries(ERRORS).map(([name, { status, type, fault, retry, meaning }]) => [
        code(name),
        String(status),
        code(type),
        FAULTS[fault],
        retry ? 'yes' : 'no',
        meaning,
      ]),
    ),
  );
