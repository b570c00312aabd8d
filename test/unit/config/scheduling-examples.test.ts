import { readFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import { parse } from 'yaml';
import { goodConfig, plansOf } from '../../helpers/config.ts';

const page = readFileSync(new URL('../../../docs/scheduling.md', import.meta.url), 'utf8');
const examples = Array.from(page.matchAll(/```yaml\n([^]*?)```/g), ([, text = '']) => text);

describe('the examples of docs/scheduling.md', () => {
  test('are there', ({ expect }) => {
    expect(examples.length).toBeGreaterThanOrEqual(4);
  });

  for (const [n, text] of examples.entries()) {
    test(`can be served: ${n + 1}`, ({ expect }) => {
      const plans = plansOf(goodConfig(parse(text)));
      expect(plans.flatMap(({ models }) => models).length).toBeGreaterThan(0);
    });
  }
});
