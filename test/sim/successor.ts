import type { Engine } from '../../src/core/engine.ts';
import { unloadUnderWay, type HandedMember } from '../../src/core/handover.ts';
import type { EngineId } from '../../src/core/kinds.ts';
import type { Member } from '../../src/core/member.ts';

/** What a stage leaves to the next one of a model, with its engines as they are. */
export function handedMember(member: Member, engine: (id: EngineId) => Engine): HandedMember {
  const { terms, stale, held, replicas, levelSet, part, quietSince } = member;
  const on = part.kind === 'draining' ? part.was : part;
  return {
    ...{ terms, stale, held, replicas, quietSince },
    level: levelSet,
    unload: unloadUnderWay(member),
    onSince: on.kind === 'on' ? on.since : undefined,
    phases: new Map(terms.engines.map((id) => [id, engine(id).phase])),
    leases: Array.from(member.leases, ([ticket, id]) => ({ ticket, engine: id })),
  };
}
