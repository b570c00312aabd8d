import type { ModelId } from '../core/kinds.ts';
import type { ModelView, StageView } from '../runtime/view.ts';

/** How one of several models is chosen. */
export type Prefer = 'awake' | 'first' | 'least_loaded';

/** A model that may be chosen. */
export type Candidate = { readonly model: ModelId; readonly enabled: boolean };

/** The parts of models that serve now or will without being asked, the nearest first. */
const NEAR = ['on', 'entering', 'summoned'];

/** The one of several models that serves a request best. A disabled one only when there is no other. */
export function choose<C extends Candidate>(among: readonly [C, ...C[]], prefer: Prefer, look: () => StageView): C {
  const usable = among.filter(({ enabled }) => enabled);
  const first = usable[0] ?? among[0];
  if (usable.length < 2 || prefer === 'first') return first;
  const views = viewsOf(usable, look());
  return (prefer === 'awake' ? nearest(views) : leastLoaded(views)) ?? first;
}

/** The model that is awake or about to be; none when all are out or on their way out. */
export function awakeOne<C extends Candidate>(among: readonly C[], look: () => StageView): C | undefined {
  const usable = among.filter(({ enabled }) => enabled);
  return nearest(viewsOf(usable, look()));
}

type Seen<C> = { readonly candidate: C; readonly view: ModelView };

function viewsOf<C extends Candidate>(among: readonly C[], { models }: StageView): Seen<C>[] {
  return among.flatMap((candidate) => {
    const view = models.find(({ model }) => model === candidate.model);
    return view === undefined ? [] : [{ candidate, view }];
  });
}

function nearest<C>(seen: readonly Seen<C>[]): C | undefined {
  for (const part of NEAR) {
    const found = seen.find(({ view }) => view.part === part);
    if (found !== undefined) return found.candidate;
  }
  return undefined;
}

/** Those that are awake come before those that would have to be woken; of equals the first. */
function leastLoaded<C>(seen: readonly Seen<C>[]): C | undefined {
  const awake = seen.filter(({ view }) => view.part === 'on');
  const load = ({ view }: Seen<C>): number => view.inFlight + view.waiting;
  let least: Seen<C> | undefined;
  for (const each of awake.length > 0 ? awake : seen) if (least === undefined || load(each) < load(least)) least = each;
  return least?.candidate;
}
