import { EXAMPLE } from '../../src/config/example.ts';
import { configJsonSchema } from '../../src/config/json-schema.ts';
import { configPage } from './config.ts';
import { errorsPage } from './errors.ts';
import { httpPage } from './http.ts';
import { metricsPage } from './metrics.ts';

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Every file that is rendered from the code, by its path in the repository. */
export const GENERATED: Readonly<Record<string, () => string>> = {
  'config.example.json': () => json(EXAMPLE),
  'docs/config.md': configPage,
  'docs/config.schema.json': () => json(configJsonSchema()),
  'docs/errors.md': errorsPage,
  'docs/http.md': httpPage,
  'docs/metrics.md': metricsPage,
};
