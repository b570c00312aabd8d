import { catalogueOf } from '../catalogue.ts';
import type { Config } from '../schema.ts';
import { fitsPattern } from '../wildcard.ts';
import type { Check, CheckFinding } from './check.ts';

/** Every key has a name and a secret of its own. */
export const keysClash: Check = ({ config, written }) => {
  const names = new Set<string>();
  const secrets = new Map<string, string>();
  const findings: CheckFinding[] = [];
  for (const [index, { name }] of written.keys.entries()) {
    if (names.has(name)) {
      findings.push({ path: ['keys', index, 'name'], message: `is "${name}", as another key is`, fix: 'Rename one.' });
    }
    names.add(name);
  }
  for (const { name, secret } of config.keys) {
    const owner = secrets.get(secret.value.reveal());
    const index = written.keys.findLastIndex((key) => key.name === name);
    if (owner !== undefined) {
      findings.push({ path: ['keys', index], message: `has the same secret as "${owner}"`, fix: 'Make another.' });
    }
    secrets.set(secret.value.reveal(), name);
  }
  return findings;
};

/** A key that opens nothing. */
export const keyHasNoRight: Check = ({ written: { keys } }) =>
  keys.flatMap(({ infer, admin }, index) =>
    infer || admin
      ? []
      : [{ path: ['keys', index], message: 'may neither infer nor admin', fix: 'Give it a right, or take it out.' }],
  );

/** Patterns that no model has. */
export const keyFitsNothing: Check = ({ config, written }) => {
  const names = namesOf(config);
  return written.keys.flatMap(({ models }, index) =>
    models.flatMap((pattern, at) =>
      names.some((name) => fitsPattern(pattern, name) || name.includes('*'))
        ? []
        : [{ path: ['keys', index, 'models', at], message: `is "${pattern}", which no model or alias fits` }],
    ),
  );
};

function namesOf(config: Config): readonly string[] {
  const models = catalogueOf(config).entries.flatMap(({ id, config: { aliases } }) => [id, ...aliases]);
  return [...models, ...Object.keys(config.aliases)];
}
