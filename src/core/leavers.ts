import { isBusy, uncommitted, type Sight, type StageSight } from './cast.ts';
import { logSum, shareOf } from './demand.ts';

/** However little it is asked for, bringing a model back counts for this part of what it takes. */
const LEAST_SHARE = 0.01;
/** So many choices are looked at: every one of as many as twelve models that could go. Beyond that it is the best of those seen. */
const MOST_LOOKS = 8_192;

type Leaver = { readonly sight: Sight; readonly cost: number; readonly busy: boolean; readonly price: number };
type Choice = { readonly leavers: readonly Leaver[]; readonly busy: number; readonly price: number };

/**
 * Whom to send off so that `to` fits: none if there is room, undefined if it cannot be had now (those who are still entering cannot go).
 * As few who are busy as will do; of those the cheapest to miss: what it takes to put each away and bring it back, by how much it was asked for
 * lately; of equals those who have been on longest. Never more than needed.
 */
export function makeRoom(
  sight: Pick<StageSight, 'capacity' | 'cast'>,
  to: Pick<Sight, 'cost'>,
): readonly Sight[] | undefined {
  const missing = to.cost - uncommitted(sight);
  if (missing <= 0) return [];
  const mayGo = sight.cast.filter(({ part, cost }) => part === 'on' && cost > 0);
  const enough = mayGo.reduce((sum, { cost }) => sum + cost, 0);
  if (enough < missing) return undefined;
  if (mayGo.length === 1) return mayGo;
  const chosen = cheapest(priced(mayGo), missing);
  return mayGo.filter((leaver) => chosen.includes(leaver));
}

/** Those who are idle first, then by what it costs to miss them for the room they give, then those who have been on longest. */
function priced(mayGo: readonly Sight[]): readonly Leaver[] {
  const all = mayGo.reduce((sum, { logWork }) => logSum(sum, logWork), Number.NEGATIVE_INFINITY);
  const leavers = mayGo.map((sight) => ({ sight, cost: sight.cost, busy: isBusy(sight), price: priceOf(sight, all) }));
  return leavers.toSorted(
    (a, b) =>
      Number(a.busy) - Number(b.busy) || a.price / a.cost - b.price / b.cost || a.sight.onSince - b.sight.onSince,
  );
}

function priceOf(sight: Sight, logWorkOfAll: number): number {
  const { comeBackMs, goMs, drainMs, logWork } = sight;
  const share = Math.max(LEAST_SHARE, shareOf(logWork, logWorkOfAll));
  return (1 + goMs + comeBackMs + (isBusy(sight) ? drainMs : 0)) * share;
}

/** Goes through the choices depth first, and leaves out what cannot be better than the best so far. */
function cheapest(leavers: readonly Leaver[], missing: number): readonly Sight[] {
  // What those from here on give together.
  const rest = leavers.map((_, at) => leavers.slice(at).reduce((sum, { cost }) => sum + cost, 0));
  let best: Choice | undefined;
  let looks = 0;
  const look = (at: number, left: number, chosen: Choice): void => {
    if (best !== undefined && (++looks > MOST_LOOKS || !isBetter(chosen, best))) return;
    if (left <= 0) {
      best = chosen;
      return;
    }
    const leaver = leavers[at];
    if (leaver === undefined || (rest[at] ?? 0) < left) return;
    const { busy, price } = chosen;
    const withIt = {
      leavers: [...chosen.leavers, leaver],
      busy: busy + Number(leaver.busy),
      price: price + leaver.price,
    };
    look(at + 1, left - leaver.cost, withIt);
    look(at + 1, left, chosen);
  };
  look(0, missing, { leavers: [], busy: 0, price: 0 });
  return withoutSpare(best?.leavers ?? [], missing).map(({ sight }) => sight);
}

const isBetter = (a: Choice, b: Choice): boolean => a.busy < b.busy || (a.busy === b.busy && a.price < b.price);

/** A choice that could not be looked at to the end may have somebody in it who need not go. */
function withoutSpare(chosen: readonly Leaver[], missing: number): readonly Leaver[] {
  let spare = chosen.reduce((sum, { cost }) => sum + cost, 0) - missing;
  return chosen.filter(({ cost }) => {
    const stays = cost <= spare;
    if (stays) spare -= cost;
    return !stays;
  });
}
