import { list } from './words.ts';
import type { LoadOverride } from '../../../ports/load-override.ts';
import { CONSTRAINTS, type Constraint, type Constraints } from './tables.ts';

/** Everything that is unfit about an override for a model of this backend, each with what to do. Empty: it may be loaded so. */
export function unfit(backend: string, override: LoadOverride): readonly string[] {
  const constraints = CONSTRAINTS[backend] ?? {};
  const flaws = Object.entries(override).flatMap(([name, value]) => unfitField(backend, constraints, name, value));
  return [...flaws, ...unfitBits(override)];
}

function unfitField(backend: string, constraints: Constraints, name: string, value: LoadOverride[string]): string[] {
  const constraint = constraints[name];
  if (constraint === undefined) {
    const takes = Object.keys(constraints);
    const instead = takes.length === 0 ? 'takes no overrides' : `takes ${list(takes)}`;
    return [`${name} does not fit a model of ${backend}, which ${instead}`];
  }
  const wrong = value === null ? undefined : wrongWith(name, constraint, value);
  return wrong === undefined ? [] : [`${name} ${wrong}, not ${JSON.stringify(value)}`];
}

/** Fields whose engine knows more values than are shown. */
const OPEN = new Set(['vllm_kv_cache_dtype']);

function wrongWith(name: string, constraint: Constraint, value: string | number): string | undefined {
  switch (constraint.kind) {
    case 'integer':
    case 'integer_or_null': {
      const { minimum, maximum = Number.POSITIVE_INFINITY } = constraint;
      const step = 'step' in constraint ? constraint.step : 1;
      if (typeof value !== 'number') return undefined;
      if (value < minimum || value > maximum) return `must be ${range(minimum, maximum)}`;
      return (value - minimum) % step === 0 ? undefined : `must be ${minimum} and any number of steps of ${step}`;
    }
    case 'float': {
      const { minimum, maximum } = constraint;
      const fits = typeof value !== 'number' || (value >= minimum && value <= maximum);
      return fits ? undefined : `must be ${range(minimum, maximum)}`;
    }
    case 'enum':
    case 'string_or_null': {
      const { allowed_values: allowed } = constraint;
      if (name === 'exllama_cache_quant') return QUANT.test(String(value)) ? undefined : 'must be like "8" or "8,4"';
      if (allowed === undefined || allowed.includes(String(value))) return undefined;
      if (OPEN.has(name) && /^[a-z0-9_]+$/.test(String(value))) return undefined;
      return `must be ${list(allowed, 'or')}`;
    }
  }
}

/** One number of bits for both, or one for each, from 2 through 8. */
const QUANT = /^[2-8](?:,[2-8])?$/;

/** The two ways to say how the cache is quantised do not mix, and the second one says both numbers. */
function unfitBits(override: LoadOverride): string[] {
  const [k, v] = ['exllama_cache_k_bits', 'exllama_cache_v_bits'].map((name) => override[name]);
  if (k === undefined && v === undefined) return [];
  const flaws: string[] = [];
  if (k === undefined || v === undefined) flaws.push('exllama_cache_k_bits and exllama_cache_v_bits go together');
  else if ((k === null) !== (v === null)) {
    flaws.push('exllama_cache_k_bits and exllama_cache_v_bits must both be null, or both be numbers');
  }
  if ('exllama_cache_quant' in override) {
    flaws.push('exllama_cache_quant cannot be combined with exllama_cache_k_bits and exllama_cache_v_bits');
  }
  return flaws;
}

const range = (minimum: number, maximum: number): string =>
  maximum === Number.POSITIVE_INFINITY ? `${minimum} or more` : `from ${minimum} to ${maximum}`;
