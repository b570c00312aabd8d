import { ERRORS, type Fault } from '../core/errors.ts';
import type { Fact, RequestRecord } from '../core/facts.ts';
import { HOOKS } from '../core/hooks.ts';
import { unreachable } from '../core/kinds.ts';
import type { FailedWhile, Failure } from '../core/restart.ts';
import type { Leg, SwapRecord } from '../core/swap.ts';
import type { Level, Target } from './levels.ts';
import { engineName, list, plural, shownPath, span } from './phrases.ts';

/** One fact as a log line. The text is made only when somebody wants it. */
export type Sentence = {
  readonly target: Target;
  readonly level: Level;
  readonly text: () => string;
  /** Lines that belong below it, such as the last ones an engine printed. */
  readonly details: readonly string[];
  /** What a program reads in place of the text. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Set on lines that bad times bring in great numbers: those with the same mark are thinned out. */
  readonly crowd: string | undefined;
};

type More = Partial<Pick<Sentence, 'details' | 'fields' | 'crowd'>>;

/** What a person is told about a fact. */
export function sentence(fact: Fact): Sentence {
  const { kind: _, ...fields } = fact;
  const say = (target: Target, level: Level, text: () => string, more: More = {}): Sentence => ({
    target,
    level,
    text,
    details: [],
    fields,
    crowd: undefined,
    ...more,
  });
  switch (fact.kind) {
    case 'listening':
      return say('app', 'info', () =>
        fact.what === 'metrics' ? `metrics are at ${fact.url}` : `${LISTENER[fact.what]} on ${fact.url}`,
      );
    case 'stopped':
      return say('app', 'info', () => `catnap has stopped after ${span(fact.uptimeMs)}`);
    case 'shutdown-asked':
      return say('app', 'info', () => shutdown(fact));
    case 'warned':
      return say('app', 'warn', () => fact.message);
    case 'leftover-reaped':
      return say('engine', fact.gone ? 'info' : 'error', () => leftover(fact));
    case 'engine-moved':
      return say('engine', 'debug', () => `${engineName(fact.engine, fact.model)}: ${fact.from} -> ${fact.to}`);
    case 'engine-failed':
      return say('engine', fact.failure.giveUp ? 'error' : 'warn', () => failed(fact), { details: fact.lastLines });
    case 'sleep-escalated':
      return say('engine', 'warn', () => escalated(fact), { details: fact.lastLines });
    case 'engine-stuck':
      return say('engine', 'error', () => stuck(fact));
    case 'hook-ended':
      return say('engine', fact.result === 'failed' ? 'warn' : 'debug', () => hooked(fact));
    case 'engine-started':
      return say('engine', 'debug', () => started(fact), { details: [fact.commandLine] });
    case 'swap-planned':
      return say('swap', 'info', () => planned(fact), { fields: plannedFields(fact) });
    case 'swap-overlaps':
      return say('swap', 'debug', () => overlaps(fact));
    case 'start-short-of-memory':
      return say('swap', 'warn', () => short(fact));
    case 'host-memory-short':
      return say('swap', 'info', () => squeezed(fact), { fields: squeezedFields(fact) });
    case 'model-demoted':
      return say('swap', 'info', () => demoted(fact), { fields: demotedFields(fact) });
    case 'swap-finished':
      return say('swap', fact.record.result === 'failed' ? 'warn' : 'info', () => finished(fact.record), {
        fields: swapFields(fact.record),
      });
    case 'leases-cut':
      return say('swap', 'warn', () => `${plural(fact.count, 'request')} to ${fact.model} cut off (${fact.code})`);
    case 'request-arrived':
      return say('request', 'debug', () => `a request for ${fact.model} arrived`);
    case 'prefetch-ended':
      return say('swap', fact.end === 'failed' ? 'warn' : 'debug', () => prefetched(fact));
    case 'next-ignored':
      return say(
        'request',
        'debug',
        () => `an announcement of ${shownPath(fact.name)} is ignored: ${NO_HEED[fact.reason]}`,
      );
    case 'request-returned':
      return say(
        'request',
        'info',
        () => `a request for ${fact.model} that a drain cut short waits at its place again`,
      );
    case 'request-granted':
      return say('request', 'debug', () => `a request for ${fact.model} got its turn after ${span(fact.waitedMs)}`);
    case 'request-ended': {
      const { request } = fact;
      const path = shownPath(request.path);
      const level = requestLevel(request);
      const crowd = level === 'debug' ? undefined : `${request.model ?? ''} ${request.code ?? request.outcome}`;
      return say('request', level, () => ended(request, path), { fields: { ...request, path }, crowd });
    }
    case 'requests-frozen':
      return say('swap', 'info', () => frozen(fact), {
        fields: { model: fact.model, count: fact.count, frozenAt: fact.level, for: fact.for },
      });
    case 'requests-thawed':
      return say(
        'swap',
        'info',
        () => `${fact.model} goes on with ${plural(fact.count, 'request')} after ${span(fact.frozenMs)}`,
      );
    case 'certificate-renewed':
      return say('app', 'info', () => `new connections see the new certificate in ${fact.file}`);
    case 'config-reloaded':
      return say('app', 'info', () => reloaded(fact), { fields: { by: fact.by, ...fact.changes } });
    case 'config-refused':
      return say('app', 'error', () => `${fact.by}: the config is not used, and all stays as it was`, {
        details: fact.problems,
      });
    case 'restart-asked':
      return say('app', 'info', () => `${fact.by}: a fresh catnap is to take over`);
    case 'restart-called-off':
      return say('app', 'error', () => `${fact.by}: no fresh catnap takes over, and all stays as it was`, {
        details: fact.problems,
      });
    case 'handed-over':
      return say('app', 'info', () => handedOver(fact));
    case 'taken-over':
      return say('app', 'info', () => takenOver(fact));
    case 'left':
      return say(
        'app',
        'info',
        () => `what was open before the restart has ended; this catnap leaves after ${span(fact.uptimeMs)}`,
      );
    case 'model-forgotten':
      return say('app', 'info', () => `${fact.model} is gone, and the config has it no more`);
    case 'admin-acted': {
      const done = fact.status < 400;
      const crowd = done ? undefined : `admin ${fact.peer}`;
      return say('app', done ? 'info' : 'warn', () => acted(fact), { crowd });
    }
    case 'client-error':
      return say('request', 'debug', () => `a client sent what is no HTTP request: ${fact.reason}`);
    default:
      return unreachable(fact);
  }
}

const LISTENER = { main: 'catnap listens', admin: 'operators are answered' };

type Of<Kind extends Fact['kind']> = Extract<Fact, { readonly kind: Kind }>;

function shutdown({ by, inFlight, waiting }: Of<'shutdown-asked'>): string {
  const open = inFlight + waiting;
  if (open === 0) return `${by}: shutting down`;
  return `${by}: shutting down once ${plural(open, 'request')} (${inFlight} in flight, ${waiting} waiting) ${open === 1 ? 'is' : 'are'} answered`;
}

function reloaded({ by, changes }: Of<'config-reloaded'>): string {
  const { added, removed, changed, settings, unchanged } = changes;
  const keysOf = (keys: typeof settings): string => keys.map(({ key }) => key).join(', ');
  const parts = [
    added.length > 0 ? `added ${list(added)}` : '',
    removed.length > 0 ? `removed ${list(removed)}` : '',
    ...changed.map(({ model, keys }) => {
      const anew = keys.some(({ holds }) => holds === 'restart') ? '; it starts anew' : '';
      return `changed ${model} (${keysOf(keys)}${anew})`;
    }),
    settings.length > 0 ? `set ${keysOf(settings)}` : '',
  ].filter((part) => part !== '');
  const what = parts.length === 0 ? 'nothing has changed' : parts.join('; ');
  return `${by}: the config was read again: ${what}; ${plural(unchanged, 'model')} as before`;
}

function handedOver({ version, engines, requests, gapMs }: Of<'handed-over'>): string {
  const what = `catnap ${version} has taken over with ${plural(engines, 'engine')}; nobody was let in for ${span(gapMs)}`;
  return requests === 0
    ? what
    : `${what}; ${plural(requests, 'open request')} ${requests === 1 ? 'is' : 'are'} served here`;
}

function takenOver({ version, engines, requests }: Of<'taken-over'>): string {
  const what = `this catnap has taken over ${plural(engines, 'engine')} as they were from catnap ${version}`;
  return requests === 0 ? what : `${what}, which still serves ${plural(requests, 'request')}`;
}

function leftover({ model, pid, port, gone }: Of<'leftover-reaped'>): string {
  const what =
    port === 0
      ? `a hook of ${model} (pid ${pid}) that an earlier catnap left running`
      : `an engine of ${model} (pid ${pid}, port ${port}) that an earlier catnap left running`;
  return gone
    ? `ended ${what}`
    : `could not end ${what}; ${port === 0 ? 'it may still do its work' : 'its port and memory are still taken'}`;
}

function acted({ action, key, peer, status, request, model, terms = [] }: Of<'admin-acted'>): string {
  const who = key === undefined ? `somebody at ${peer}` : `${key} at ${peer}`;
  const what = [model ?? [], ...terms].flat().join(', ');
  return `${who}: ${shownPath(action)}${what === '' ? '' : ` (${what})`} was answered ${status} [${request}]`;
}

const TRIED: Readonly<Record<FailedWhile, string>> = {
  starting: 'could not start',
  awake: 'failed while awake',
  'falling-asleep': 'could not be put to sleep',
  waking: 'could not wake',
  asleep: 'was lost while asleep',
};

function failed({ engine, model, failure, retryInMs }: Of<'engine-failed'>): string {
  const next = retryInMs <= 0 ? 'it may be tried again at once' : `it may be tried again after ${span(retryInMs)}`;
  return `${engineName(engine, model)} ${TRIED[failure.during]}${inARow(failure)}: ${failure.reason}; ${next}`;
}

function started({ engine, model, pid, port, savedAt, adopted }: Of<'engine-started'>): string {
  const fresh = adopted === true ? 'is taken over as it is' : 'has started';
  const how = savedAt === undefined ? fresh : `is back as it was at ${savedAt}`;
  return `${engineName(engine, model)} ${how} (pid ${pid}, port ${port})`;
}

function inARow({ attempts }: Failure): string {
  return attempts < 2 ? '' : `, ${attempts} times in a row`;
}

function escalated({ engine, model, from, to, reason }: Of<'sleep-escalated'>): string {
  const next = to === 5 ? 'it is stopped instead (level 5)' : `level ${to} is tried instead`;
  return `${engineName(engine, model)} could not be put to sleep at level ${from}: ${reason}; ${next}`;
}

function hooked({ engine, model, hook, sleepLevel: level, result, fatal, ms, reason }: Of<'hook-ended'>): string {
  const which = `the hook ${hook} of ${engineName(engine, model)}${level === undefined ? '' : ` (level ${level})`}`;
  if (result === 'withdrawn') return `${which} was ended after ${span(ms)}: its order was withdrawn`;
  if (result === 'done') return `${which} took ${span(ms)}`;
  const then = fatal ? HOOKS[hook].fatal : undefined;
  return `${which} ${reason}; ${then ?? 'that stops nothing'}`;
}

function stuck({ engine, model, reason }: Of<'engine-stuck'>): string {
  return `${engineName(engine, model)} could not be stopped: ${reason}; it is tried again`;
}

const NO_HEED = { unknown: 'there is no such model for this client', busy: 'another model is being read ahead' };

const ENDS: Readonly<Record<Of<'prefetch-ended'>['end'], string>> = {
  whole: 'that is all of it',
  bound: 'no more than prefetch.max_mib',
  memory: 'less than prefetch.keep_free_mib is available',
  disk: 'requests in progress need the disk',
  stopped: 'it is not needed any more',
  failed: 'the rest could not be read',
};

function prefetched({ model, bytes, ms, end, reason }: Of<'prefetch-ended'>): string {
  const why = reason === undefined ? ENDS[end] : `${ENDS[end]} (${reason})`;
  return `read ${Math.round(bytes / 1_048_576)} MiB of ${model} ahead in ${span(ms)}: ${why}`;
}

function planned({ to, from, level, waiting }: Of<'swap-planned'>): string {
  const why = waiting === 0 ? '' : ` for ${plural(waiting, 'waiting request')}`;
  if (from.length > 0) return `swapping ${list(from)} for ${to}${why}`;
  return level === 5 ? `starting ${to}${why}` : `waking ${to} from level ${level}${why}`;
}

const overlaps = ({ to, beside, freeMib }: Of<'swap-overlaps'>): string =>
  `${to} comes in while ${list(beside)} still ${beside.length === 1 ? 'leaves' : 'leave'}: ${freeMib} MiB are free by measurement`;

function short({ model, reason, from }: Of<'start-short-of-memory'>): string {
  const others =
    from.length === 0 ? 'others have gone by now' : `${list(from)} ${from.length === 1 ? 'makes' : 'make'} room`;
  return `${model} ran out of memory while starting: ${reason}; ${others}, and it is started once more`;
}

function demoted({ model, from, to, idleMs }: Of<'model-demoted'>): string {
  const goes =
    to === 5 ? 'is stopped (level 5)' : `goes ${from === undefined ? '' : `from level ${from} `}to level ${to}`;
  return `${model} has had nothing to do for ${span(idleMs)} and ${goes}`;
}

const demotedFields = ({ model, from, to, idleMs }: Of<'model-demoted'>): Readonly<Record<string, unknown>> => ({
  model,
  fromLevel: from,
  toLevel: to,
  idleMs,
});

const frozen = ({ model, count, level, for: comer }: Of<'requests-frozen'>): string =>
  `${model} is suspended with ${plural(count, 'request')} in flight (level ${level})${comer === undefined ? '' : `, for ${comer}`}`;

function squeezed({ model, from, to, mib, limitMib, for: comer }: Of<'host-memory-short'>): string {
  const away = to === 5 ? 'is stopped (level 5)' : `goes to level ${to}`;
  const limit = `sleepers may hold ${limitMib} MiB of host memory (host_ram_limit_mib)`;
  if (comer === model) return `${model} ${away} instead of level ${from}, where it would hold ${mib} MiB: ${limit}`;
  const why = comer === undefined ? '' : ` and ${comer} needs room`;
  return `${model} ${away} from level ${from}, where it holds ${mib} MiB: ${limit}${why}`;
}

const squeezedFields = (fact: Of<'host-memory-short'>): Readonly<Record<string, unknown>> => ({
  model: fact.model,
  fromLevel: fact.from,
  toLevel: fact.to,
  hostMib: fact.mib,
  limitMib: fact.limitMib,
  for: fact.for,
});

function finished(record: SwapRecord): string {
  const { to, totalMs, result } = record;
  const parts = legs(record);
  const where = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  switch (result) {
    case 'done':
      return `${to} is awake after ${span(totalMs)}${where}`;
    case 'failed':
      return `${to} did not wake, given up after ${span(totalMs)}${where}`;
    case 'withdrawn':
      return `${to} is no longer wanted, called off after ${span(totalMs)}${where}`;
    default:
      return unreachable(result);
  }
}

function legs({ from, to, level, legs: taken }: SwapRecord): string[] {
  const gone = list(from);
  const names: Readonly<Record<Leg, string>> = {
    drain: `${gone} drained`,
    sleep: `${gone} put away`,
    clear: 'memory cleared',
    wake: level === 5 ? `${to} started` : `${to} woken from level ${level}`,
    ready: 'ready',
  };
  const order = ['drain', 'sleep', 'clear', 'wake', 'ready'] as const satisfies readonly Leg[];
  return order.flatMap((leg) => {
    const ms = taken[leg];
    return ms === undefined || ms < 0.5 ? [] : [`${names[leg]} ${span(ms)}`];
  });
}

function plannedFields({ swap, to, from, waiting, level }: Of<'swap-planned'>): Readonly<Record<string, unknown>> {
  return { swap, to, from, waiting, wakesFrom: level };
}

/** `level` is the log's own word, and the stage's clock is nobody else's. */
function swapFields(record: SwapRecord): Readonly<Record<string, unknown>> {
  const { id, to, from, totalMs, legs: taken, overheadMs, level, result } = record;
  return { swap: id, to, from, totalMs, legs: taken, overheadMs, wokenFrom: level, result };
}

const LOUDNESS: Readonly<Record<Fault, Level>> = {
  client: 'debug',
  load: 'warn',
  operator: 'info',
  engine: 'warn',
  us: 'error',
};

/** A request is worth a line of its own only when it failed, and not by the client's doing. */
function requestLevel({ outcome, code, status }: RequestRecord): Level {
  if (outcome === 'abandoned' || outcome === 'aborted') return 'debug';
  if (code !== undefined) return LOUDNESS[ERRORS[code].fault];
  return outcome === 'served' && status < 500 ? 'debug' : 'warn';
}

function ended(
  { id, method, key, model, outcome, status, code, queuedMs, totalMs }: RequestRecord,
  path: string,
): string {
  const whose = `${model === undefined ? '' : ` for ${model}`}${key === undefined ? '' : ` by ${key}`}`;
  const end = code === undefined ? `${outcome}, ${status}` : `${outcome}, ${status} ${code}`;
  const waited = queuedMs < 0.5 ? '' : `, ${span(queuedMs)} of it waiting`;
  return `${method} ${path}${whose}: ${end} after ${span(totalMs)}${waited} [${id}]`;
}
