import { writeFileSync } from 'node:fs';
import { simulate, type SimulateOptions } from '../app/simulate.ts';
import { configFrom, loadConfig } from '../config/load.ts';
import { timeline } from '../simulate/drawing.ts';
import type { Outcome } from '../simulate/tally.ts';
import { complaint } from '../config/diagnostics.ts';
import { EXIT } from '../app/exit.ts';
import { table, type Cell } from './table.ts';
import type { Terminal } from './terminal.ts';

type Options = Omit<SimulateOptions, 'config'> & {
  readonly config: readonly string[];
  readonly json: boolean;
  readonly svg: string | undefined;
};

/** What a simulation without a config is about: models that are started and stopped. */
const NO_CONFIG = { models: { model: { backend: 'stub' } }, policy: { policy_type: 'slack', max_wait_secs: 30 } };

/** Shows what each policy would make of a workload. */
export async function simulateCommand(options: Options, terminal: Terminal): Promise<number> {
  const found = loadConfig(options.config, {}, terminal.env);
  const loaded = found.kind === 'absent' ? configFrom(NO_CONFIG, 'the defaults', {}, terminal.env) : found;
  if (loaded.kind !== 'loaded') {
    terminal.err(loaded.kind === 'bad' ? complaint(loaded.problems) : 'There is no config.\n');
    return EXIT.usage;
  }
  const simulated = await simulate({ ...options, config: loaded.config });
  if (simulated.kind === 'bad') {
    terminal.err(`${simulated.problem}\n`);
    return EXIT.usage;
  }
  const { outcomes, workload, notes } = simulated;
  for (const note of notes) terminal.err(`${note}\n`);
  if (options.svg !== undefined) {
    try {
      writeFileSync(options.svg, timeline(outcomes));
    } catch (error) {
      terminal.err(`${options.svg} cannot be written: ${error instanceof Error ? error.message : String(error)}\n`);
      return EXIT.failed;
    }
  }
  terminal.out(
    options.json ? json(workload, outcomes) : `${heading(workload, options)}${tableOf(outcomes, terminal.colour)}`,
  );
  return EXIT.ok;
}

function heading(workload: string, { comeMs, goMs }: Options): string {
  const said = (ms: number | undefined, unknown: string): string => (ms === undefined ? unknown : `${ms / 1_000} s`);
  const come = said(comeMs, 'as long as was learned, or 5 s,');
  return `${workload}. A model takes ${come} to come and ${said(goMs, 'as long as was learned, or 1 s,')} to go. Waits in seconds.\n\n`;
}

const HEADS = [
  'policy',
  'served',
  'refused',
  'left',
  'mean',
  'p50',
  'p95',
  'p99',
  'max',
  'swaps',
  'swapping',
  'draining',
];

function tableOf(outcomes: ReadonlyMap<string, Outcome>, colour: boolean): string {
  const rows = [...outcomes].map(([policy, outcome]): readonly Cell[] => [{ text: policy }, ...cellsOf(outcome)]);
  return table([HEADS.map((text): Cell => ({ text, style: 'bold' })), ...rows], colour);
}

function cellsOf({ served, rejected, left, waits, swaps, swappingShare, drainingShare }: Outcome): readonly Cell[] {
  const { meanMs, p50Ms, p95Ms, p99Ms, maxMs } = waits;
  const texts = [served, rejected, left].map(String);
  const times = [meanMs, p50Ms, p95Ms, p99Ms, maxMs].map((ms) => (ms / 1_000).toFixed(1));
  const shares = [swappingShare, drainingShare].map((share) => `${Math.round(share * 100)} %`);
  return [...texts, ...times, String(swaps), ...shares].map((text) => ({ text }));
}

function json(workload: string, outcomes: ReadonlyMap<string, Outcome>): string {
  const policies = [...outcomes].map(([policy, { timeline: _timeline, byModel, ...outcome }]) => ({
    policy,
    ...outcome,
    models: Object.fromEntries(byModel),
  }));
  return `${JSON.stringify({ workload, policies }, undefined, 2)}\n`;
}
