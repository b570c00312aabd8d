import type { z } from 'zod';
import type { ModelConfig } from '../../config/schema.ts';
import type { SavedCosts } from '../../core/costs.ts';
import type { Millis, SleepLevel } from '../../core/kinds.ts';
import type { Failure } from '../../core/restart.ts';
import type { Verdict } from '../../ports/verdicts.ts';
import type { BoardView, EngineView, ModelView, StageView, SwapView } from '../../runtime/view.ts';
import { capabilitiesOf } from './capabilities.ts';
import { CONSTRAINTS, RECOMMENDATIONS } from './constraints/tables.ts';
import type { EngineRow, ModelList, ModelRow, StageRow, VramSource } from './contract.ts';
import { definitionOf } from './definition.ts';
import { phaseSince, readyInMs, residencyOfModel, runtimeState } from './state.ts';

/** A failure that somebody remembers. */
export type Remembered = {
  readonly failure: Failure;
  readonly at: Date;
  readonly triedAgain: boolean;
};

/** What is known of a model besides its view. */
export type Known = {
  readonly config: ModelConfig;
  readonly remembered: Remembered | undefined;
  readonly verdicts: readonly Verdict[];
  readonly vram: Vram;
  readonly effectiveTarget: number;
  readonly costs: SavedCosts;
  readonly levels: readonly SleepLevel[];
};

/** About how much GPU memory a model takes. */
export type Vram = {
  readonly mib: number | null;
  readonly replicas: number;
  readonly source: z.infer<typeof VramSource>;
};

export function modelRow(
  view: ModelView,
  { config, remembered, verdicts, vram, effectiveTarget, costs, levels }: Known,
  now: Millis,
): ModelRow {
  const state = runtimeState(view);
  const recommendations = RECOMMENDATIONS[config.backend];
  return {
    name: view.model,
    resolved_backend: config.backend,
    configured_enabled: config.enabled,
    activation: config.activation,
    aliases: [...config.aliases],
    runtime_state: state,
    is_loaded: state === 'loaded',
    residency: residencyOfModel(view),
    sleep_level: view.sleepLevel,
    levels: [...levels],
    costs: costRows(costs),
    hold: view.held,
    stage: view.stage,
    room: view.room,
    keep: view.kept,
    waits_for_loads: view.waitsForLoads,
    replicas: view.replicas,
    replica_max: config.replica_max,
    loaded_replicas: view.engines.filter(({ phase }) => phase.kind === 'awake').length,
    inflight_requests: view.inFlight,
    runtime_inflight: view.inFlight,
    suspended_requests: view.frozen,
    configured_target_inflight: config.target_inflight,
    effective_target_inflight: effectiveTarget,
    ...vramFields(vram),
    load_constraints: { ...CONSTRAINTS[config.backend] },
    ...(recommendations !== undefined && { load_recommendations: recommendations }),
    load_override: view.override,
    capabilities: capabilitiesOf(config),
    definition: definitionOf(config),
    queue_depth: view.waiting,
    oldest_wait_secs: secs(view.oldestWaitMs),
    ready_in_secs: secs(readyInMs(view, now)),
    last_error: remembered === undefined || remembered.triedAgain ? null : remembered.failure.reason,
    last_failure: remembered === undefined ? null : pastFailure(remembered),
    engines: view.engines
      .filter(({ phase }, replica) => replica < view.replicas || phase.kind !== 'off')
      .map((engine) => engineRow(engine, now)),
    verdicts: verdicts.map(({ level, passed, reason, at }) => ({ level, passed, reason, at: at.toISOString() })),
  };
}

/** What it holds in host memory is learned beside them, and is no time. */
function costRows({ holds: _mib, ...legs }: SavedCosts): ModelRow['costs'] {
  const rows = Object.entries(legs).map(
    ([leg, { ms, spreadMs, samples }]) =>
      [leg, { ms: Math.round(ms), spread_ms: Math.round(spreadMs), samples }] as const,
  );
  return Object.fromEntries(rows);
}

export const vramFields = ({ mib, replicas, source }: Vram) => ({
  vram_estimate_mib: mib,
  vram_estimate_replica_count: replicas,
  vram_estimate_source: source,
});

function engineRow({ engine, phase, pid, port, dozes = false, holds }: EngineView, now: Millis): EngineRow {
  const since = phaseSince(phase);
  return {
    engine,
    phase: phase.kind,
    dozes,
    phase_secs: since === undefined ? null : secs(now - since),
    pid: pid ?? null,
    port: port ?? null,
    holds:
      holds === undefined
        ? null
        : { gpu_mib: holds.gpuMib ?? null, host_mib: holds.hostMib ?? null, disk_mib: holds.diskMib ?? null },
  };
}

function pastFailure({ failure, at }: Remembered): ModelRow['last_failure'] {
  const { during, reason, attempts } = failure;
  return { at: at.toISOString(), during, reason, attempts };
}

export function stageRow({ name, gpus, counts, capacity, taken, mode, swap }: BoardView, view: StageView): StageRow {
  const pinned = mode.kind === 'manual' ? (mode.pinned ?? null) : null;
  return { name, gpus: [...gpus], counts, capacity, taken, mode: mode.kind, pinned, swap: swapNow(swap, view) };
}

/** The swap under way, with what is known of its end. */
export function swapNow(swap: SwapView | undefined, { models, now }: StageView): ModelList['swap'] {
  if (swap === undefined) return null;
  const wanted = models.find(({ model }) => model === swap.to);
  const expected = wanted === undefined ? undefined : readyInMs(wanted, now);
  return {
    id: swap.id,
    to: swap.to,
    from: [...swap.from],
    since_secs: secs(swap.sinceMs),
    expected_secs: secs(expected),
  };
}

function secs(ms: number): number;
function secs(ms: number | undefined): number | null;
function secs(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms) / 1_000;
}
