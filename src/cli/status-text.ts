import type { ModelList, ModelRow, RuntimeState, StageRow } from '../api/admin/contract.ts';
import { painted, table, type Cell } from './table.ts';
import { duration, list, plain } from './words.ts';

type Terms = { readonly url: string; readonly now: Date; readonly colour: boolean };

/** One glance: what is awake, what is on its way, who waits and for how long, and what went wrong last. */
export function statusText(status: ModelList, { url, now, colour }: Terms): string {
  const { models, stages, swap, accepting, version } = status;
  const parts = [
    `catnap ${version} at ${url}\n`,
    accepting ? '' : `${painted({ text: 'It is shutting down and lets no request in.', style: 'yellow' }, colour)}\n`,
    `${awake(models)}\n`,
    ...(stages.length > 1 ? stages.map(stageLine) : [swap === null ? '' : `${underWay(swap)}\n`]),
    '\n',
    table([HEADER, ...models.map(row)], colour),
  ];
  const more = models.flatMap((model) => [...failureLine(model, now), ...verdictLine(model)]);
  if (models.some(({ queue_depth }) => queue_depth > 0))
    more.push('`catnap requests` lists who waits and who is served.');
  if (more.length > 0) parts.push('\n', ...more.map((line) => `${line}\n`));
  return parts.join('');
}

function awake(models: readonly ModelRow[]): string {
  const names = models.filter(({ is_loaded }) => is_loaded).map(({ name }) => name);
  if (names.length === 0) return 'No model is awake.';
  return `${list(names)} ${names.length === 1 ? 'is' : 'are'} awake.`;
}

function stageLine({ name, counts, capacity, taken, mode, pinned, swap }: StageRow): string {
  const room = counts === 'models' ? `${taken} of ${capacity} awake` : `${taken} of ${capacity} MiB taken`;
  const steered = mode === 'manual' ? [pinned === null ? 'swaps by hand' : `pinned to ${pinned}`] : [];
  const parts = [room, ...steered, ...(swap === null ? [] : [underWay(swap)])];
  return `stage ${name}: ${parts.join('; ')}\n`;
}

function underWay({ to, from, since_secs, expected_secs }: NonNullable<ModelList['swap']>): string {
  const what = from.length === 0 ? `Waking ${to}` : `Swapping ${list(from)} for ${to}`;
  const rest =
    expected_secs === null
      ? 'it has never been timed'
      : expected_secs === 0
        ? 'longer than usual'
        : `about ${duration(expected_secs)} to go`;
  return `${what}: ${duration(since_secs)} so far, ${rest}.`;
}

const HEADER: readonly Cell[] = ['MODEL', 'STATE', 'WAITING', 'IN FLIGHT', 'READY IN', 'ENGINE'].map((text) => ({
  text,
  style: 'bold',
}));

function row(model: ModelRow): readonly Cell[] {
  const { name, ready_in_secs } = model;
  return [
    { text: name },
    { text: stateText(model), style: STYLE[model.runtime_state] },
    { text: waitingText(model) },
    { text: inFlightText(model) },
    { text: ready_in_secs === null ? '?' : ready_in_secs === 0 ? 'now' : duration(ready_in_secs) },
    { text: enginesText(model) },
  ];
}

function inFlightText({ runtime_inflight: open, suspended_requests: still }: ModelRow): string {
  if (open === 0) return '-';
  return still === 0 ? String(open) : `${open}, ${still} suspended`;
}

const STYLE = {
  loaded: 'green',
  loading: 'yellow',
  unloading: 'yellow',
  failed: 'red',
  unloaded: 'dim',
} as const satisfies Record<RuntimeState, Cell['style']>;

function stateText({ runtime_state, residency, configured_enabled, engines }: ModelRow): string {
  const asleep = runtime_state === 'unloaded' && residency !== 'none';
  const dozing = engines.length > 0 && engines.every(({ dozes }) => dozes);
  const state = asleep
    ? `asleep (${[residency, ...heldBy(engines)].join(', ')})`
    : dozing
      ? `${runtime_state}, dozing`
      : runtime_state;
  return configured_enabled ? state : `${state}, disabled`;
}

/** What its sleepers take of anything, as far as that was seen. */
function heldBy(engines: ModelRow['engines']): string[] {
  return (['gpu', 'host', 'disk'] as const).flatMap((where) => {
    const mib = engines.reduce((sum, { holds }) => sum + (holds?.[`${where}_mib`] ?? 0), 0);
    return mib === 0 ? [] : [`${mib} MiB ${where}`];
  });
}

function waitingText({ queue_depth, oldest_wait_secs }: ModelRow): string {
  if (queue_depth === 0) return '-';
  return oldest_wait_secs === null ? String(queue_depth) : `${queue_depth}, longest ${duration(oldest_wait_secs)}`;
}

function enginesText({ engines }: ModelRow): string {
  const running = engines.flatMap(({ pid, port }) => {
    const parts = [pid === null ? [] : `pid ${pid}`, port === null ? [] : `port ${port}`].flat();
    return parts.length === 0 ? [] : parts.join(' ');
  });
  return running.length === 0 ? '-' : running.join(', ');
}

/** What a validation has found, where there was one. */
function verdictLine({ name, verdicts }: ModelRow): string[] {
  if (verdicts.length === 0) return [];
  const told = verdicts.map(({ level, passed, reason, at }) =>
    passed ? `level ${level} works` : `level ${level} failed on ${at.slice(0, 10)} (${plain(reason)})`,
  );
  return [`${name} was validated: ${told.join(', ')}`];
}

const DURING: Readonly<Record<string, string>> = {
  starting: 'while starting',
  awake: 'while awake',
  'falling-asleep': 'while going to sleep',
  waking: 'while waking',
  asleep: 'while asleep',
};

function failureLine({ name, last_failure, last_error }: ModelRow, now: Date): string[] {
  if (last_failure === null) return [];
  const { at, during, reason, attempts } = last_failure;
  const ago = duration(Math.max(0, (now.getTime() - Date.parse(at)) / 1_000));
  const often = attempts < 2 ? '' : `, ${attempts} times in a row`;
  const since = last_error === null ? ' (started again since)' : '';
  return [`${name} failed ${ago} ago ${DURING[during] ?? during}${often}: ${plain(reason)}${since}`];
}
