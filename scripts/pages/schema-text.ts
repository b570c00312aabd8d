import type { z } from 'zod';
import { code } from './markdown.ts';

const MIB = 1_048_576;

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** What may be written for a key, in words. */
export function typeText(schema: JsonSchema): string {
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(', ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeText).join(' or ');
  if (schema.$ref !== undefined) return 'object';
  switch (schema.type) {
    case 'integer':
      return `whole number, ${range(schema)}`;
    case 'number':
      return `number, ${range(schema)}`;
    case 'boolean':
      return '`true`, `false`';
    case 'array':
      return typeof schema.items === 'object' && '$ref' in schema.items ? 'list of objects' : 'list of texts';
    case 'object':
      return objectText(schema.additionalProperties);
    default:
      return 'text';
  }
}

function objectText(values: JsonSchema['additionalProperties']): string {
  if (typeof values !== 'object' || values.type === undefined) return 'object';
  return values.type === 'object' ? 'object of objects' : 'object of texts';
}

const range = ({ minimum, maximum }: JsonSchema): string => `${minimum} to ${maximum}`;

/** What a key is when nobody writes it. */
export function defaultText(schema: JsonSchema): string {
  const { inherits, default_text: text } = schema;
  if (typeof inherits === 'string') return inherits.includes('.') ? code(inherits) : `top-level ${code(inherits)}`;
  if (typeof text === 'string') return text;
  if (schema.default === undefined) return 'none';
  return code(JSON.stringify(schema.default)) + sizeText(schema.default);
}

/** Large powers of two are sizes, which people read in MiB. */
const sizeText = (value: unknown): string =>
  typeof value === 'number' && value >= MIB && value % MIB === 0 ? ` (${value / MIB} MiB)` : '';
