import type { EnginePhase } from '../../core/engine.ts';
import { failureOf } from '../../core/engine.ts';
import type { Mode } from '../../core/steering.ts';
import type { ModelView, StageView, SwapView } from '../../runtime/view.ts';
import type { ControlStatus, SleepLevels } from './contract.ts';

export function controlStatus({ models, stages, swap, mode }: StageView): ControlStatus {
  const active = models.filter(isActive);
  const each = models.map((view) => {
    const { model, inFlight, waiting } = view;
    return [
      model,
      { in_flight: inFlight, queue_depth: waiting, ...depthOf(view), process_state: processState(view) },
    ] as const;
  });
  const boards = stages.map((board) => {
    const own = active.filter(({ stage }) => stage === board.name);
    const state = stateInWords(board.swap, own[0]);
    return [
      board.name,
      { state, active_models: own.map(({ model }) => model), mode: board.mode.kind, ...pinOf(board.mode) },
    ] as const;
  });
  return {
    state: stateInWords(swap, active[0]),
    active_model: active[0]?.model ?? null,
    mode: { mode: mode.kind, ...pinOf(mode) },
    stages: Object.fromEntries(boards),
    models: Object.fromEntries(each),
  };
}

const isActive = ({ part }: ModelView): boolean => part === 'on' || part === 'draining';

function stateInWords(swap: SwapView | undefined, active: ModelView | undefined): string {
  if (swap !== undefined) return `switching:${swap.from.join('+') || 'none'}->${swap.to}`;
  return active === undefined ? 'idle' : `active:${active.model}`;
}

const pinOf = (mode: Mode): { pinned?: string } =>
  mode.kind === 'manual' && mode.pinned !== undefined ? { pinned: mode.pinned } : {};

export const sleepLevels = ({ models }: StageView): SleepLevels => ({
  models: Object.fromEntries(
    models.map((view) => [view.model, { ...depthOf(view), process_state: processState(view) }]),
  ),
});

const depthOf = ({ sleepLevel, levelSet }: ModelView) => ({
  effective_level: sleepLevel,
  level_override: levelSet ?? null,
});

/** Of several engines the one that says most: one that failed, one on its way, one that runs. */
function processState({ engines }: ModelView): string {
  const states = engines.map(({ phase }) => stateOf(phase));
  const telling = (state: string): number => {
    const at = ORDER.findIndex((start) => state.startsWith(start));
    return at === -1 ? ORDER.length : at;
  };
  return states.toSorted((a, b) => telling(a) - telling(b))[0] ?? 'not_started';
}

const ORDER = ['failed', 'starting', 'stopping', 'running', 'sleeping', 'checkpointed', 'not_started'];

function stateOf(phase: EnginePhase): string {
  const failure = failureOf(phase);
  if (failure !== undefined) return `failed:${failure.reason}`;
  switch (phase.kind) {
    case 'off':
    case 'failed':
      return 'not_started';
    case 'starting':
    case 'waking':
      return 'starting';
    case 'awake':
      return 'running';
    case 'asleep':
      return phase.level === 4 ? 'checkpointed' : `sleeping:${phase.level}`;
    case 'stuck':
      return `failed:${phase.reason}`;
    case 'falling-asleep':
    case 'stopping':
    case 'reaping':
      return 'stopping';
  }
}
