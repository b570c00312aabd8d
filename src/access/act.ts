import type { IncomingMessage } from 'node:http';
import type { ModelId } from '../core/kinds.ts';

/** What an operator has asked for beside method and path. */
export type Act = {
  readonly model?: ModelId | undefined;
  /** In words, such as `hold` or `level=1`; never a value that could be a secret. */
  readonly terms?: readonly string[];
};

const acts = new WeakMap<IncomingMessage, Act>();

/** Keeps what an operator asks for, as its handler has read it, for the fact that tells it. More can be added. */
export function noteAct(req: IncomingMessage, { model, terms = [] }: Act): void {
  const before = acts.get(req);
  acts.set(req, { model: model ?? before?.model, terms: [...(before?.terms ?? []), ...terms] });
}

export const actOf = (req: IncomingMessage): Act => acts.get(req) ?? {};
