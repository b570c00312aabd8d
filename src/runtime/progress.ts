import type { Millis, ModelId } from '../core/kinds.ts';
import type { EngineView, ModelView, StageView } from './view.ts';

export type ProgressTerms = {
  /** Whether who is told may know of this model. */
  readonly knows?: ((model: ModelId) => boolean) | undefined;
  /** When a request would have its turn, by all that is known. */
  readonly turnMs?: number;
};

/** What those who wait for a model are waiting for, in words: `alpha is draining, then beta wakes, about 9 s in all`. */
export function progressOf({ models, now }: StageView, wanted: ModelId, terms: ProgressTerms = {}): string {
  const own = models.find(({ model }) => model === wanted);
  if (own === undefined) return `${wanted} waits for its turn`;
  switch (own.part) {
    case 'entering':
      return coming(own, now);
    case 'on':
    case 'draining':
      return own.engines.some(({ phase }) => phase.kind === 'awake')
        ? `${wanted} is at work on ${own.inFlight} requests, ${own.waiting} wait`
        : coming(own, now);
    case 'leaving':
      if (own.frozen > 0) return suspended(own, models, terms);
      return `${wanted} is being put away, then it starts again`;
    default: {
      if (own.frozen > 0 && own.part === 'out') return suspended(own, models, terms);
      if (own.waitsForLoads) return `${wanted} waits until other models have loaded`;
      const { knows, turnMs } = terms;
      const before = models
        .filter((other) => other !== own && other.stage === own.stage)
        .flatMap((other) => inTheWay(other, now, knows?.(other.model) === false ? 'another model' : other.model));
      // Of a model that was never timed nobody knows.
      const inAll =
        turnMs === undefined || own.startEstimateMs === undefined
          ? ''
          : `, about ${Math.ceil(turnMs / 1_000)} s in all`;
      if (before.length === 0 && own.part === 'out') return `${wanted} waits for its turn${inAll}`;
      if (before.length === 0) return coming(own, now);
      return [...before, inAll === '' ? coming(own, now) : `${wanted} ${verbOf(own)}${inAll}`].join(', then ');
    }
  }
}

/** `alpha is suspended while beta is served` */
function suspended({ model, stage }: ModelView, models: readonly ModelView[], { knows }: ProgressTerms): string {
  const served = models.find((other) => other.model !== model && other.stage === stage && IN_PLACE.has(other.part));
  if (served === undefined) return `${model} is suspended and waits for its turn`;
  return `${model} is suspended while ${knows?.(served.model) === false ? 'another model' : served.model} is served`;
}

const IN_PLACE: ReadonlySet<string> = new Set(['summoned', 'entering', 'on', 'draining']);

/** What a model does whose room is wanted. One that has no part may still have an engine that is being ended. */
function inTheWay(other: ModelView, now: Millis, name: string): string[] {
  switch (other.part) {
    case 'entering':
      return [coming(other, now, name)];
    case 'draining':
      return [`${name} is draining`];
    case 'leaving':
      return [`${name} is being put away`];
    default:
      return [];
  }
}

const verbOf = ({ engines }: ModelView): string =>
  engines.some(({ phase }) => phase.kind === 'asleep' || phase.kind === 'waking') ? 'wakes' : 'starts';

function coming(view: ModelView, now: Millis, name: string = view.model): string {
  const { engines, startEstimateMs } = view;
  const verb = verbOf(view);
  if (startEstimateMs === undefined) return `${name} ${verb}`;
  const leftMs = startEstimateMs - Math.max(0, ...engines.map((engine) => underWay(engine, now)));
  return leftMs > 0 ? `${name} ${verb}, about ${Math.ceil(leftMs / 1_000)} s` : `${name} ${verb}, longer than usual`;
}

/** For how long an engine has been on its way. */
function underWay({ phase }: EngineView, now: Millis): number {
  return phase.kind === 'starting' || phase.kind === 'waking' ? now - phase.since : 0;
}
