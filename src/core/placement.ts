/** A model that wants a stage. */
export type Piece = {
  readonly model: string;
  /** The stage it has to be on; undefined: whichever fits best. */
  readonly stage: string | undefined;
  /** Whether its room is its own. */
  readonly keep: boolean;
  /** On how many GPUs one engine of it works. */
  readonly span: number;
  /** What it takes of a stage, all its engines together. */
  readonly need: (ground: Ground) => number | 'all';
};

/** A stage that models are placed on. */
export type Ground = {
  readonly name: string;
  readonly capacity: number;
  /** Undefined: it is not known which GPUs it has. */
  readonly gpus: number | undefined;
};

/** A model that can be awake on no stage that it may be on. */
export type Misfit = {
  readonly model: string;
  /** For each of these stages: what it would need, and what is there beside those that are kept. */
  readonly tried: readonly {
    readonly stage: string;
    readonly need: number;
    readonly room: number;
    readonly gpus: number | undefined;
  }[];
  readonly span: number;
};

type Spot = { readonly ground: Ground; kept: number; placed: number };

/**
 * Which model is on which stage: those that name one there; then those that are kept and the largest first, each where it leaves the least room
 * beside all that are there already, or where the crowd is smallest once they do not all fit together. The same input gives the same answer.
 */
export function place(
  pieces: readonly Piece[],
  grounds: readonly Ground[],
): { readonly placed: ReadonlyMap<string, string>; readonly misfits: readonly Misfit[] } {
  const spots = grounds.map((ground): Spot => ({ ground, kept: 0, placed: 0 }));
  const placed = new Map<string, string>();
  const misfits: Misfit[] = [];
  for (const piece of inOrder(pieces, grounds)) {
    const may = spots.filter(({ ground }) => piece.stage === undefined || ground.name === piece.stage);
    const spot = best(
      piece,
      may.filter((one) => fits(piece, one)),
    );
    if (spot === undefined) {
      const tried = may.map(({ ground, kept }) => {
        return { stage: ground.name, need: sizeOf(piece, ground), room: ground.capacity - kept, gpus: ground.gpus };
      });
      misfits.push({ model: piece.model, tried, span: piece.span });
      continue;
    }
    placed.set(piece.model, spot.ground.name);
    const size = sizeOf(piece, spot.ground);
    spot.placed += size;
    if (piece.keep) spot.kept += size;
  }
  return { placed, misfits };
}

function inOrder(pieces: readonly Piece[], grounds: readonly Ground[]): readonly Piece[] {
  const largest = (piece: Piece): number =>
    Math.max(...grounds.map((ground) => sizeOf(piece, ground) / ground.capacity));
  const rank = ({ stage, keep }: Piece): number => (keep ? 0 : 2) + (stage === undefined ? 1 : 0);
  return pieces.toSorted((a, b) => rank(a) - rank(b) || largest(b) - largest(a));
}

function sizeOf(piece: Piece, ground: Ground): number {
  const need = piece.need(ground);
  return need === 'all' ? ground.capacity : need;
}

function fits(piece: Piece, { ground, kept }: Spot): boolean {
  if (ground.gpus !== undefined && ground.gpus < piece.span) return false;
  const room = ground.capacity - kept;
  return piece.need(ground) === 'all' ? room > 0 : sizeOf(piece, ground) <= room;
}

function best(piece: Piece, may: readonly Spot[]): Spot | undefined {
  let chosen: { readonly spot: Spot; readonly crowd: number } | undefined;
  for (const spot of may) {
    const { capacity } = spot.ground;
    const full = spot.placed + sizeOf(piece, spot.ground);
    // Below 0: all fit together, and the closer the better.
    const crowd = full <= capacity ? full / capacity - 2 : full / capacity;
    if (chosen === undefined || isCloser(crowd, chosen.crowd)) chosen = { spot, crowd };
  }
  return chosen?.spot;
}

const isCloser = (a: number, b: number): boolean => (a < 0 && b < 0 ? a > b : a < b);
