import type { MayUse } from '../access/key.ts';
import type { Fact } from '../core/facts.ts';
import { modelId, type ModelId } from '../core/kinds.ts';
import type { Mode } from '../core/steering.ts';
import type { StageView, SwapView } from '../runtime/view.ts';
import type { ControlDeps } from './deps.ts';

/** Whether a model is there for whoever asks. */
type IsHis = (model: ModelId) => boolean;

/** Undefined: all of them are. */
export function hisOf({ config }: Pick<ControlDeps, 'config'>, mayUse: MayUse | undefined): IsHis | undefined {
  if (mayUse === undefined) return undefined;
  return (model) => [model, ...(config.models[model]?.aliases ?? [])].some((name) => mayUse(name, model));
}

/** The view without the models that are not there for whoever asks, wherever they are named. */
export function viewFor(deps: Pick<ControlDeps, 'config' | 'stage'>, mayUse: MayUse | undefined): StageView {
  const view = deps.stage.view();
  const isHis = hisOf(deps, mayUse);
  if (isHis === undefined) return view;
  return {
    ...view,
    mode: modeFor(view.mode, isHis),
    swap: swapFor(view.swap, isHis),
    models: view.models.filter(({ model }) => isHis(model)),
    stages: view.stages.map((board) => ({
      ...board,
      mode: modeFor(board.mode, isHis),
      swap: swapFor(board.swap, isHis),
    })),
  };
}

function modeFor(mode: Mode, isHis: IsHis): Mode {
  if (mode.kind === 'auto' || mode.pinned === undefined || isHis(mode.pinned)) return mode;
  return { kind: 'manual', pinned: undefined };
}

function swapFor(swap: SwapView | undefined, isHis: IsHis): SwapView | undefined {
  return swap !== undefined && isHis(swap.to) ? { ...swap, from: swap.from.filter(isHis) } : undefined;
}

/** A fact as far as it is of his models; undefined for one of other models, or of catnap as a whole. */
export function factFor(fact: Fact, isHis: IsHis): Fact | undefined {
  switch (fact.kind) {
    case 'swap-planned':
      return isHis(fact.to) ? { ...fact, from: fact.from.filter(isHis) } : undefined;
    case 'swap-finished': {
      const { record } = fact;
      return isHis(record.to) ? { ...fact, record: { ...record, from: record.from.filter(isHis) } } : undefined;
    }
    case 'swap-overlaps':
      return isHis(fact.to) ? { ...fact, beside: fact.beside.filter(isHis) } : undefined;
    case 'start-short-of-memory':
      return isHis(fact.model) ? { ...fact, from: fact.from.filter(isHis) } : undefined;
    case 'host-memory-short':
    case 'requests-frozen': {
      const { for: comer } = fact;
      const mayKnow = comer !== undefined && isHis(comer);
      return isHis(fact.model) ? { ...fact, for: mayKnow ? comer : undefined } : undefined;
    }
    case 'request-ended':
      return fact.request.model !== undefined && isHis(fact.request.model) ? fact : undefined;
    default:
      return 'model' in fact && fact.model !== undefined && isHis(modelId(fact.model)) ? fact : undefined;
  }
}
