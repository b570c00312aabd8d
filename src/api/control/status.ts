import type { EnginePhase } from '../../core/engine.ts';
import { failureOf } from '../../core/engine.ts';
import type { ModelView, StageView } from '../../runtime/view.ts';
import type { ControlStatus, SleepLevels } from './contract.ts';

export function controlStatus({ models, swap, mode }: StageView): ControlStatus {
  const active = models.find(({ part }) => part === 'on' || part === 'draining');
  const state =
    swap === undefined
      ? active === undefined
        ? 'idle'
        : `active:${active.model}`
      : `switching:${swap.from.join('+') || 'none'}->${swap.to}`;
  const pinned = mode.kind === 'manual' && mode.pinned !== undefined ? { pinned: mode.pinned } : {};
  const each = models.map((view) => {
    const { model, inFlight, waiting } = view;
    return [model, { in_flight: inFlight, queue_depth: waiting, process_state: processState(view) }] as const;
  });
  return {
    state,
    active_model: active?.model ?? null,
    mode: { mode: mode.kind, ...pinned },
    models: Object.fromEntries(each),
  };
}

export const sleepLevels = ({ models }: StageView): SleepLevels => ({
  models: Object.fromEntries(
    models.map((view) => [view.model, { effective_level: view.sleepLevel, process_state: processState(view) }]),
  ),
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
