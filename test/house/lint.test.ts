import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { z } from 'zod';
import { ROOMS } from './rooms.ts';
import { ROOT } from './source-files.ts';

const overrideSchema = z.object({ files: z.array(z.string()), rules: z.record(z.string(), z.unknown()) });
const restrictionSchema = z.tuple([
  z.literal('error'),
  z.object({ patterns: z.array(z.object({ regex: z.string(), message: z.string() })) }),
]);
const { overrides } = z
  .object({ overrides: z.array(overrideSchema) })
  .parse(JSON.parse(readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8')));

/** The rooms that the linter keeps out of a room. */
function forbiddenBy(room: string): readonly string[] {
  const override = overrides.find(
    ({ files, rules }) => files.includes(`src/${room}/**`) && 'no-restricted-imports' in rules,
  );
  if (override === undefined) return [];
  const [, { patterns }] = restrictionSchema.parse(override.rules['no-restricted-imports']);
  const others = Object.keys(ROOMS).filter((other) => other !== room);
  return others.filter((other) => patterns.some(({ regex }) => new RegExp(regex).test(`../${other}/x.ts`)));
}

test.for(Object.entries(ROOMS))(
  'the linter shows in the editor which rooms %s may not import',
  ([room, { values, types }], { expect }) => {
    const reachable = new Set([room, ...values, ...types].map((name) => name.split('/')[0]));
    expect(forbiddenBy(room)).toEqual(Object.keys(ROOMS).filter((other) => !reachable.has(other)));
  },
);
