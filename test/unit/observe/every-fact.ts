import type { Fact, RequestRecord } from '../../../src/core/facts.ts';
import { engineId, millis, modelId } from '../../../src/core/kinds.ts';
import type { Failure } from '../../../src/core/restart.ts';
import type { SwapRecord } from '../../../src/core/swap.ts';

export const alpha = modelId('alpha');
export const beta = modelId('beta');
const engine = engineId(beta, 0);

export const failure: Failure = {
  during: 'starting',
  reason: 'exited with code 1: no such file',
  attempts: 2,
  giveUp: true,
};

export const swapRecord: SwapRecord = {
  id: 7,
  to: beta,
  from: [alpha],
  startedAt: millis(1_000),
  totalMs: 84,
  legs: { drain: 0, sleep: 12, wake: 70 },
  overheadMs: 2,
  level: 5,
  result: 'done',
};

export const request: RequestRecord = {
  id: 'r-1',
  method: 'POST',
  path: '/v1/chat/completions',
  model: alpha,
  outcome: 'served',
  status: 200,
  code: undefined,
  queuedMs: 84,
  firstByteMs: 20,
  totalMs: 1_240,
  bytesIn: 100,
  bytesOut: 2_000,
};

/** One of every kind; the type demands a new one when there is a new kind. */
export const EVERY_FACT: { readonly [Kind in Fact['kind']]: Extract<Fact, { readonly kind: Kind }> } = {
  'restart-asked': { kind: 'restart-asked', by: 'SIGUSR2' },
  'restart-called-off': { kind: 'restart-called-off', by: 'SIGUSR2', problems: ['models.beta.tokns: is not known'] },
  'handed-over': { kind: 'handed-over', by: 'SIGUSR2', version: '1.2.4', engines: 2, requests: 1, gapMs: 84 },
  'taken-over': { kind: 'taken-over', version: '1.2.3', engines: 2, requests: 1 },
  left: { kind: 'left', uptimeMs: 125_000 },
  listening: { kind: 'listening', what: 'main', url: 'http://127.0.0.1:3000' },
  stopped: { kind: 'stopped', uptimeMs: 125_000 },
  'shutdown-asked': { kind: 'shutdown-asked', by: 'SIGTERM', inFlight: 2, waiting: 1 },
  warned: { kind: 'warned', message: 'metrics_port 9090 is taken; metrics stay on the main port' },
  'leftover-reaped': { kind: 'leftover-reaped', engine, model: 'beta', pid: 41, port: 8002, gone: true },
  'engine-moved': { kind: 'engine-moved', engine, model: beta, from: 'off', to: 'starting' },
  'engine-failed': {
    kind: 'engine-failed',
    engine,
    model: beta,
    failure,
    retryInMs: 2_000,
    lastLines: ['loading beta.gguf', 'error: no such file'],
  },
  'sleep-escalated': {
    kind: 'sleep-escalated',
    engine,
    model: beta,
    from: 1,
    to: 5,
    reason: 'vLLM /sleep: it answered 500',
    lastLines: ['error: no'],
  },
  'requests-frozen': { kind: 'requests-frozen', model: alpha, count: 2, level: 3, for: beta },
  'requests-thawed': { kind: 'requests-thawed', model: alpha, count: 2, frozenMs: 1_500 },
  'engine-stuck': { kind: 'engine-stuck', engine, model: beta, reason: 'pid 41 is still there' },
  'hook-ended': {
    kind: 'hook-ended',
    engine,
    model: beta,
    hook: 'before_sleep',
    sleepLevel: 1,
    result: 'failed',
    fatal: true,
    ms: 84,
    reason: 'ended with code 3: no cache server',
  },
  'engine-started': {
    kind: 'engine-started',
    engine,
    model: beta,
    pid: 41,
    port: 8002,
    commandLine: 'llama-server --port 8002',
  },
  'swap-planned': { kind: 'swap-planned', swap: 7, to: beta, from: [alpha], level: 5, waiting: 3 },
  'swap-overlaps': { kind: 'swap-overlaps', swap: 7, to: beta, beside: [alpha], freeMib: 14_000 },
  'start-short-of-memory': {
    kind: 'start-short-of-memory',
    model: beta,
    reason: 'vLLM ended with code 1: out of memory',
    from: [alpha],
  },
  'host-memory-short': {
    kind: 'host-memory-short',
    model: alpha,
    from: 1,
    to: 2,
    mib: 9_000,
    limitMib: 16_000,
    for: beta,
  },
  'model-demoted': { kind: 'model-demoted', model: beta, from: 1, to: 5, idleMs: 600_000 },
  'swap-finished': { kind: 'swap-finished', record: swapRecord },
  'prefetch-ended': {
    kind: 'prefetch-ended',
    model: beta,
    why: 'swap',
    end: 'whole',
    bytes: 3 * 1_048_576,
    ms: 1_500,
    reason: undefined,
  },
  'next-ignored': { kind: 'next-ignored', name: 'gamma', reason: 'unknown' },
  'request-returned': { kind: 'request-returned', model: alpha },
  'leases-cut': { kind: 'leases-cut', model: alpha, count: 2, code: 'drained' },
  'request-arrived': { kind: 'request-arrived', model: alpha },
  'request-granted': { kind: 'request-granted', model: alpha, waitedMs: 84 },
  'request-ended': { kind: 'request-ended', request },
  'config-reloaded': {
    kind: 'config-reloaded',
    by: 'SIGHUP',
    changes: {
      added: ['gamma'],
      removed: ['delta'],
      changed: [{ model: 'beta', keys: [{ key: 'extra_args', holds: 'restart' }] }],
      settings: [{ key: 'policy.max_waiting', holds: 'at_once' }],
      unchanged: 1,
    },
  },
  'config-refused': { kind: 'config-refused', by: 'SIGHUP', problems: ['port: needs a restart of catnap'] },
  'model-forgotten': { kind: 'model-forgotten', model: beta },
  'certificate-renewed': { kind: 'certificate-renewed', file: 'cert.pem' },
  'admin-acted': {
    kind: 'admin-acted',
    request: 'r-1',
    key: 'boss',
    peer: '127.0.0.1',
    action: 'POST /v1/admin/models/beta/load',
    status: 200,
  },
  'client-error': { kind: 'client-error', reason: 'bad header' },
};
