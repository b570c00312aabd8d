import type { EnginePhase } from '../../core/engine.ts';
import { unreachable, type Millis } from '../../core/kinds.ts';
import { residencyOf, type Residency } from '../../core/residency.ts';
import type { ModelView } from '../../runtime/view.ts';
import type { RuntimeState } from './contract.ts';

/** A model's state in the five words that outsiders know. A model that sleeps is unloaded: nothing can be served from it. */
export function runtimeState({ part, engines, loadWaits }: ModelView): RuntimeState {
  if (engines.some(({ phase }) => phase.kind === 'stuck')) return 'failed';
  const states = engines.map(({ phase }) => engineState(phase));
  if (part === 'summoned' || part === 'entering') {
    return engines.some(({ phase }) => phase.kind === 'failed') ? 'failed' : 'loading';
  }
  if (part === 'leaving' && states.includes('failed')) return 'failed';
  if (part === 'draining' || part === 'leaving') return 'unloading';
  if (loadWaits) return 'loading';
  const order: readonly RuntimeState[] = ['loaded', 'loading', 'unloading', 'failed'];
  return order.find((state) => states.includes(state)) ?? 'unloaded';
}

function engineState(phase: EnginePhase): RuntimeState {
  switch (phase.kind) {
    case 'off':
    case 'asleep':
      return 'unloaded';
    case 'starting':
    case 'waking':
      return 'loading';
    case 'awake':
      return 'loaded';
    case 'falling-asleep':
    case 'stopping':
      return 'unloading';
    // What is left of it is being cleared away, which takes a moment.
    case 'reaping':
    case 'stuck':
    case 'failed':
      return 'failed';
    default:
      return unreachable(phase);
  }
}

/** Residencies by how much they hold, the most first. */
const BY_WEIGHT: readonly Residency[] = ['gpu', 'host', 'suspended', 'dropped', 'disk', 'none'];

/** Where the weights of a model are: of its engines, what the one tells that holds the most. */
export function residencyOfModel({ engines }: ModelView): Residency {
  const all = engines.map(({ phase }) => residencyOf(phase));
  return BY_WEIGHT.find((residency) => all.includes(residency)) ?? 'none';
}

/** Since when a phase lasts; undefined for those that last until something happens. */
export function phaseSince(phase: EnginePhase): Millis | undefined {
  return 'since' in phase ? phase.since : undefined;
}

/** How long until the model could serve if it were wanted from now on; undefined when nobody knows. */
export function readyInMs(view: ModelView, now: Millis): number | undefined {
  if (runtimeState(view) === 'loaded') return 0;
  const { startEstimateMs } = view;
  if (startEstimateMs === undefined) return undefined;
  const waits = view.engines.map(({ phase }) => {
    switch (phase.kind) {
      case 'starting':
      case 'waking':
        return Math.max(0, startEstimateMs - (now - phase.since));
      case 'failed':
      case 'stuck':
        return Math.max(0, phase.retryAt - now) + startEstimateMs;
      case 'awake':
        return view.part === 'on' ? 0 : startEstimateMs;
      case 'off':
      case 'asleep':
      case 'falling-asleep':
      case 'stopping':
      case 'reaping':
        return startEstimateMs;
      default:
        return unreachable(phase);
    }
  });
  return Math.max(...waits);
}
