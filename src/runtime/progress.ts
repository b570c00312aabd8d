import type { Millis, ModelId } from '../core/kinds.ts';
import type { EngineView, ModelView, StageView } from './view.ts';

/** What those who wait for a model are waiting for, in words: `alpha is draining, then beta wakes, about 4 s`. */
export function progressOf({ models, now }: StageView, wanted: ModelId): string {
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
      return `${wanted} is being put away, then it starts again`;
    default: {
      const before = models.filter((other) => other !== own).flatMap((other) => inTheWay(other, now));
      if (before.length === 0 && own.part === 'out') return `${wanted} waits for its turn`;
      return [...before, coming(own, now)].join(', then ');
    }
  }
}

/** What a model does whose room is wanted. One that has no part may still have an engine that is being ended. */
function inTheWay(other: ModelView, now: Millis): string[] {
  switch (other.part) {
    case 'entering':
      return [coming(other, now)];
    case 'draining':
      return [`${other.model} is draining`];
    case 'leaving':
      return [`${other.model} is being put away`];
    default:
      return [];
  }
}

function coming({ model, engines, startEstimateMs }: ModelView, now: Millis): string {
  const verb = engines.some(({ phase }) => phase.kind === 'asleep' || phase.kind === 'waking') ? 'wakes' : 'starts';
  if (startEstimateMs === undefined) return `${model} ${verb}`;
  const leftMs = startEstimateMs - Math.max(0, ...engines.map((engine) => underWay(engine, now)));
  return leftMs > 0 ? `${model} ${verb}, about ${Math.ceil(leftMs / 1_000)} s` : `${model} ${verb}, longer than usual`;
}

/** For how long an engine has been on its way. */
function underWay({ phase }: EngineView, now: Millis): number {
  return phase.kind === 'starting' || phase.kind === 'waking' ? now - phase.since : 0;
}
