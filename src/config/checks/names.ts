import { catalogueOf } from '../catalogue.ts';
import { nearest } from '../nearest.ts';
import type { Path } from '../place.ts';
import type { Check, CheckFinding } from './check.ts';

/** There is something to serve. */
export const someModel: Check = ({ config }) =>
  Object.keys(config.models).length === 0
    ? [{ path: ['models'], message: 'is empty', fix: 'Add a model: its name, and what it is in braces.' }]
    : [];

/** Every name leads to one model. */
export const aliasesClash: Check = ({ config }) => {
  const models = new Set(Object.keys(config.models));
  const taken = new Map<string, Path>();
  const findings: CheckFinding[] = [];
  for (const [name, { aliases }] of Object.entries(config.models)) {
    for (const [index, alias] of aliases.entries()) {
      const path = ['models', name, 'aliases', index];
      const owner = taken.get(alias);
      if (alias === name) {
        findings.push({ path, message: `is the name of the model itself, "${alias}"`, fix: 'Take it out.' });
      } else if (models.has(alias)) {
        const also = ['models', alias];
        findings.push({ path, message: `is "${alias}", which is a model of its own`, fix: 'Choose another.', also });
      } else if (owner !== undefined) {
        const of = owner[1] === name ? 'this model' : `the model "${owner[1]}"`;
        const message = `is "${alias}", which is an alias of ${of} already`;
        findings.push({ path, message, fix: 'Keep one of them.', also: owner.slice(0, 2) });
      } else taken.set(alias, path);
    }
  }
  for (const alias of Object.keys(config.aliases)) {
    const path = ['aliases', alias];
    const owner = taken.get(alias);
    if (models.has(alias)) {
      const also = ['models', alias];
      findings.push({ path, message: 'is the name of a model', fix: 'Choose another.', also });
    } else if (owner !== undefined) {
      const message = `is an alias of the model "${owner[1]}" already`;
      findings.push({ path, message, fix: 'Keep one of them.', also: owner.slice(0, 2) });
    }
  }
  return findings;
};

/** An alias of several models leads to models that are there. */
export const aliasesLead: Check = ({ config: { aliases, models } }) =>
  Object.entries(aliases).flatMap(([alias, { models: names }]) =>
    names.flatMap((name, index): CheckFinding[] => {
      const path = ['aliases', alias, 'models', index];
      if (!Object.hasOwn(models, name)) return [noSuchModel(path, name, Object.keys(models))];
      if (names.indexOf(name) === index) return [];
      return [{ path, message: `is "${name}", which is in the list already`, fix: 'Take it out.' }];
    }),
  );

/** What is to be loaded at start is there. */
export const preloadsLead: Check = ({ config: { preload, models } }) =>
  preload.flatMap((name, index) =>
    Object.hasOwn(models, name) ? [] : [noSuchModel(['preload', index], name, Object.keys(models))],
  );

/** Requests without a model go to one that is there. */
export const defaultModelIsThere: Check = ({ config }) => {
  const { default_model: name } = config;
  if (name === 'none' || name === 'awake' || catalogueOf(config).resolve(name) !== undefined) return [];
  return [noSuchModel(['default_model'], name, ['none', 'awake', ...Object.keys(config.models)])];
};

/** The hardware returns to a model that is there, and that requests may bring in. */
export const idleTargetIsThere: Check = ({ config: { models, policy } }) => {
  const { idle_target: name } = policy;
  if (name === undefined) return [];
  const path = ['policy', 'idle_target'];
  if (!Object.hasOwn(models, name)) return [noSuchModel(path, name, Object.keys(models))];
  if (models[name]?.activation !== 'explicit' && models[name]?.enabled !== false) return [];
  const message = `is "${name}", which only operators load`;
  return [{ path, message, fix: 'Name a model that is enabled and loaded on demand.', also: ['models', name] }];
};

function noSuchModel(path: Path, name: string, names: readonly string[]): CheckFinding {
  const meant = nearest(name, names);
  const fix = meant === undefined ? 'Name one of `models`.' : `Did you mean "${meant}"?`;
  return { path, message: `is "${name}", which is no model here`, fix, also: ['models', name] };
}
