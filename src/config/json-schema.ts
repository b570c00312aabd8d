import { z } from 'zod';
import { EXAMPLE } from './example.ts';
import { ConfigSchema } from './schema.ts';

/** The JSON Schema of a config file, for editors and other tools. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  const { $schema, ...schema } = z.toJSONSchema(ConfigSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      const { samples } = jsonSchema;
      if (Array.isArray(samples)) jsonSchema.examples = samples;
      for (const note of ['samples', 'inherits', 'default_text']) delete jsonSchema[note];
    },
  });
  return { $schema, title: 'catnap config', ...schema, examples: [EXAMPLE] };
}
