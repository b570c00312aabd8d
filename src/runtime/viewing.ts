import type { EngineId, Millis } from '../core/kinds.ts';
import type { Member } from '../core/member.ts';
import type { Stage } from '../core/stage.ts';
import type { Swap } from '../core/swap.ts';
import type { LoadOverride } from '../ports/load-override.ts';
import { startMs } from './forecast.ts';
import type { StageActor } from './stage-actor.ts';
import type { StageSpec } from './supervisor.ts';
import type { BoardView, EngineView, ModelView } from './view.ts';

type Surroundings = {
  readonly spec: StageSpec;
  readonly actor: StageActor;
  readonly override: LoadOverride;
  readonly now: Millis;
};

/** What is shown of one model. */
export function modelView(member: Member, { spec: { name, options }, actor, override, now }: Surroundings): ModelView {
  const { model, part, lane, leases, frozen, sleepLevel, levelSet, phases, held, replicas, stale, departs } = member;
  return {
    model,
    stage: name,
    room: member.takes,
    kept: member.terms.keep === true,
    waitsForLoads: options.commons?.waits(model) === true,
    part: part.kind,
    waiting: lane.length - frozen.size,
    loadWaits: lane.hasLoad,
    unloadWaits: member.unloads.length > 0,
    held,
    replicas,
    override,
    oldestWaitMs: lane.first && now - lane.first.since,
    inFlight: leases.size,
    frozen: frozen.size,
    sleepLevel,
    levelSet,
    stale,
    departs,
    engines: [...phases.keys()].map((engine) => viewOfEngine(engine, actor)).filter((view) => view !== undefined),
    startEstimateMs: startMs(member),
  };
}

function viewOfEngine(id: EngineId, { engines }: StageActor): EngineView | undefined {
  const actor = engines.get(id);
  if (actor === undefined) return undefined;
  const { engine, driver } = actor;
  return {
    engine: id,
    phase: engine.phase,
    goal: engine.goal,
    pid: driver.running?.pid,
    port: driver.running?.port,
    dozes: driver.dozes === true,
    holds: actor.holds,
  };
}

export function boardView({ name, gpus, counts, options }: StageSpec, stage: Stage, now: Millis): BoardView {
  let taken = 0;
  let swap: Swap | undefined;
  for (const member of stage.members.values()) {
    if (member.occupies) taken += member.takes;
    swap ??= member.swap;
  }
  const under = swap && { id: swap.id, to: swap.to, from: swap.from, sinceMs: now - swap.startedAt };
  return { name, gpus, counts, capacity: options.capacity, taken, mode: stage.mode, swap: under };
}
