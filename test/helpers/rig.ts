import type { Fact, RequestRecord } from '../../src/core/facts.ts';
import { modelId } from '../../src/core/kinds.ts';
import { systemClock } from '../../src/adapters/system-clock.ts';
import type { ScratchFiles } from '../../src/ports/scratch-files.ts';
import { BodyStore, type StoreLimits } from '../../src/proxy/body-store.ts';
import type { Gate, Limits } from '../../src/proxy/gate.ts';
import { RequestBook } from '../../src/proxy/request-book.ts';
import type { Rewrite } from '../../src/proxy/rewrite.ts';
import type { Thinking } from '../../src/proxy/thinking.ts';
import { Door, type DoorTerms } from '../../src/access/door.ts';
import { Listener, type ControlPlane } from '../../src/proxy/server.ts';
import { FakeFiles } from './fake-files.ts';
import { ScriptedAdmission, ScriptedBackend } from './scripted-admission.ts';
import { httpUpstream, type Upstream } from './upstream.ts';
import { waitFor } from './wait-for.ts';

export type RigOptions = {
  readonly upstream?: Upstream;
  readonly limits?: Partial<Limits>;
  /** The bounds of the bodies that wait, and where they wait besides memory. */
  readonly store?: Partial<StoreLimits>;
  readonly files?: ScratchFiles;
  readonly responseMs?: number;
  readonly idleMs?: number;
  readonly totalMs?: number;
  readonly rewrite?: Rewrite;
  readonly thinking?: Thinking;
  readonly translates?: boolean;
  readonly unnamed?: Gate['unnamed'];
  readonly servedName?: string;
  readonly corsOrigins?: readonly string[];
  readonly backendHeaders?: Record<string, string>;
  readonly control?: ControlPlane;
  readonly door?: Partial<DoorTerms>;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly port?: number;
  readonly onTestFinished: (clean: () => Promise<void>) => void;
};

/** The data plane with a scripted stage behind it. It knows `alpha`, which `gpt-4o` is another name of, `beta`, and `off`, which is disabled. */
export type Rig = {
  readonly port: number;
  readonly listener: Listener;
  readonly upstream: Upstream;
  readonly backend: ScriptedBackend;
  readonly admission: ScriptedAdmission;
  readonly bodies: BodyStore;
  readonly requests: RequestBook;
  readonly facts: Fact[];
  /** What requests said they are followed by. */
  readonly announced: string[];
  readonly bugs: unknown[];
  readonly records: () => RequestRecord[];
  /** The record of the only request there was, once it has ended. */
  readonly record: () => Promise<RequestRecord>;
};

const MIB = 1_048_576;

const LIMITS: Limits = {
  maxConnections: 1_000,
  maxHeaderBytes: 16_384,
  headerMs: 10_000,
  maxBodyBytes: 64 * MIB,
  bodyMs: 60_000,
  passOnBytes: 256 * 1_024,
  passOnMs: 60_000,
  keepAliveMs: 10_000,
  slowReaderMs: 10_000,
  connectMs: 2_000,
  commentAfterMs: 10_000,
  commentEveryMs: 10_000,
  drainReplays: 1,
  maxPriority: 'normal',
};

export async function openRig(options: RigOptions): Promise<Rig> {
  const {
    onTestFinished,
    limits,
    responseMs = 10_000,
    idleMs = Number.POSITIVE_INFINITY,
    totalMs = Number.POSITIVE_INFINITY,
    servedName = 'alpha',
    backendHeaders,
    control = () => false,
    corsOrigins = [],
    port = 0,
  } = options;
  const upstream = options.upstream ?? (await httpUpstream((_, res) => res.end('{}')));
  const backend = new ScriptedBackend(upstream.origin, { servedName, headers: backendHeaders ?? {} });
  const admission = new ScriptedAdmission(backend);
  const files = options.files ?? new FakeFiles();
  const bodies = new BodyStore(files, {
    eachBytes: 16 * MIB,
    memoryBytes: 256 * MIB,
    diskBytes: 256 * MIB,
    ...options.store,
  });
  const requests = new RequestBook();
  const facts: Fact[] = [];
  const bugs: unknown[] = [];
  const announced: string[] = [];
  const names: Record<string, string> = {
    alpha: 'alpha',
    'gpt-4o': 'alpha',
    beta: 'beta',
    off: 'off',
    'org/model': 'org/model',
  };
  const gate: Gate = {
    find: (name, mayUse) => {
      const model = names[name];
      return model === undefined || mayUse?.(name, modelId(model)) === false
        ? undefined
        : {
            model: modelId(model),
            enabled: model !== 'off',
            responseMs,
            idleMs,
            totalMs,
            rewrite: options.rewrite,
            thinking: options.thinking ?? { modes: ['default'], told: 'template' },
            translates: options.translates ?? false,
          };
    },
    unnamed: () => options.unnamed?.() ?? 'nobody',
    announce: (name, mayUse) => announced.push(gate.find(name, mayUse)?.model ?? `no ${name}`),
    admission,
    requests,
    bodies,
    corsOrigins,
    assets: [/\.(?:js|css)$/],
    retryAfterMs: () => 4_200,
    progress: (model) => `${model} wakes`,
    reporter: { report: (fact) => facts.push(fact) },
    clock: systemClock(),
    limits: { ...LIMITS, ...limits },
    bug: (error) => bugs.push(error),
  };
  const { clock } = gate;
  const door = new Door({ keys: [], hosts: [], corsOrigins, clock, ...options.door });
  const listener = await Listener.open({ host: '127.0.0.1', port, tls: options.tls, gate, control, door });
  onTestFinished(async () => {
    await listener.close(0);
    await upstream.close();
    await waitFor('every body to be given up', () => bodies.memoryBytes + bodies.diskBytes === 0);
    if (requests.list().length > 0) throw new Error('a request is still in the book');
    if (bugs.length > 0) throw new Error('a bug was reported', { cause: bugs[0] });
  });
  const records = (): RequestRecord[] => facts.flatMap((fact) => (fact.kind === 'request-ended' ? [fact.request] : []));
  return {
    port: listener.port,
    listener,
    upstream,
    backend,
    admission,
    bodies,
    requests,
    facts,
    announced,
    bugs,
    records,
    record: async () => {
      const record = await waitFor('the record of the request', () => records()[0]);
      if (records().length > 1) throw new Error(`${records().length} requests ended, not one`);
      return record;
    },
  };
}
