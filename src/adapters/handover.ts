import { z } from 'zod';
import { engineId, modelId, ticketId, type EngineId } from '../core/kinds.ts';
import type { HandedProcess, Handover } from '../ports/handover.ts';

const Model = z.string().transform(modelId);
const Ticket = z.int().transform(ticketId);
const Engine = z.string().transform((id): EngineId => {
  const at = id.lastIndexOf('#');
  return engineId(modelId(id.slice(0, at)), Number(id.slice(at + 1)));
});
const Nap = z.union([z.literal([1, 2, 3, 4]), z.literal('hybrid')]);
const Level = z.union([Nap, z.literal(5)]);
const Bytes = z.int().min(0);
const Mib = z.number().min(0);
const Pid = z.int().min(2);

const Process = z.object({
  engine: Engine,
  model: Model,
  port: z.int().min(0),
  mark: z.string().regex(/^[0-9a-f]{32}$/),
  pid: Pid,
  started: z.int().min(0),
  log: z.object({ begin: Bytes, rotated: Bytes, followed: Bytes }),
});

const Mark = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('own'), mib: Mib, processes: z.int().min(0) }),
  z.object({ kind: z.literal('devices'), usedMib: z.record(z.string(), Mib) }),
  z.object({ kind: z.literal('unseen'), reason: z.string() }),
]);

const Image = z.object({
  path: z.string(),
  listing: z.string(),
  bytes: Bytes,
  connected: z.boolean(),
  kept: z.enum(['no', 'once', 'prepared']),
});

const LevelMemory = z.object({
  sample: z.string().optional(),
  spoiled: z.string().optional(),
  frozen: z.object({ pids: z.array(Pid), needs: z.record(z.string(), Mib) }).optional(),
  disk: z.object({ image: Image, slept: z.boolean(), onGpu: z.boolean() }).optional(),
});

const Memory = z.object({
  levels: z.object({
    held: Mark.optional(),
    sample: z.string().optional(),
    each: z.record(z.string(), LevelMemory),
  }),
  family: z.object({
    args: z.array(z.string()).optional(),
    adapters: z.array(z.object({ name: z.string(), path: z.string() })).optional(),
    communicators: z.object({ part: z.string(), rejoin: z.string() }).optional(),
    released: z.int().optional(),
    keys: z.object({ user: z.string(), admin: z.string() }).optional(),
    ask: z.record(z.string(), z.unknown()).optional(),
    conversations: z.string().optional(),
  }),
});

const Launched = z.object({
  argv: z.tuple([z.string()], z.string()),
  env: z.record(z.string(), z.string()),
  cwd: z
    .string()
    .optional()
    .transform((cwd) => cwd),
});

const Holds = z.object({ gpuMib: Mib.optional(), hostMib: Mib.optional(), diskMib: Mib.optional() });

const Running = z.object({
  engine: Engine,
  phase: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('awake') }),
    z.object({ kind: z.literal('asleep'), level: Nap }),
  ]),
  definition: z.string(),
  holds: Holds.optional(),
  life: z.object({ process: Process, launched: Launched, memory: Memory, prepared: z.boolean().optional() }).nullable(),
});

const Ms = z.number().nullable();

const HandedModel = z.object({
  model: Model,
  cost: Mib,
  costEach: Mib.nullable(),
  keep: z.boolean(),
  engines: z.array(Engine),
  replicasSet: z.int().min(1),
  replicas: z.int().min(1),
  held: z.boolean(),
  level: Level.nullable(),
  unload: z.object({ orders: z.array(Ticket), level: Level }).nullable(),
  override: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
  stale: z.boolean(),
  onForMs: Ms,
  quietForMs: Ms,
  running: z.array(Running),
  leases: z.array(z.object({ ticket: Ticket, engine: Engine })),
});

const Mode = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('auto') }),
  z.object({ kind: z.literal('manual'), pinned: Model.optional() }),
]);

const HandoverSchema = z.object({
  version: z.literal(1),
  catnap: z.string(),
  stateDir: z.string(),
  stages: z.array(
    z.object({
      name: z.string(),
      gpus: z.array(z.string()),
      counts: z.string(),
      capacity: Mib,
      mode: Mode,
      models: z.array(HandedModel),
    }),
  ),
});

/** What another catnap has sent, checked. Rejects what cannot be taken over: it is of another version, or belongs to another state folder. */
export function readHandover(value: unknown, stateDir: string): Handover {
  const read = HandoverSchema.safeParse(value);
  if (!read.success)
    throw new Error(
      `what the catnap before has handed over cannot be read: ${z.prettifyError(read.error).replaceAll('\n', ' ')}`,
    );
  const { stages, ...rest } = read.data;
  if (rest.stateDir !== stateDir)
    throw new Error(
      `state_dir was ${rest.stateDir}, and engines are taken over only within one: stop catnap and start it`,
    );
  return {
    ...rest,
    stages: stages.map(({ mode, ...stage }) => ({
      ...stage,
      mode: mode.kind === 'auto' ? mode : { kind: mode.kind, pinned: mode.pinned },
    })),
  };
}

/** All processes in it. */
export const processesIn = ({ stages }: Handover): readonly HandedProcess[] =>
  stages.flatMap(({ models }) =>
    models.flatMap(({ running }) => running.flatMap(({ life }) => (life === null ? [] : [life.process]))),
  );
