import { DriverError } from './driver.ts';
import { troubleIn } from './explain.ts';
import type { Heard } from './heard.ts';
import { failedCall, fieldOf } from './own-calls.ts';
import type { Sleeper } from './sleeper.ts';
import type { LoadAsk } from './tabby-settings.ts';
import { pause, reasonOf } from './wait.ts';

type Admin = Readonly<Record<string, string>>;

const ASK_MS = 5_000;
const ENDS_WITHIN_MS = 1_000;

/** What one line of the answer says; pings and blank lines say nothing. */
type Said = { readonly error?: string; readonly done: boolean };

/**
 * Has TabbyAPI load a model, and tells each step of it. The load goes on when the call is given up, so whoever does that ends the
 * process. It is done when the answer ends, and not with the last step: something is still set up between the two.
 */
export async function loadModel(sleeper: Sleeper, ask: LoadAsk, admin: Admin, { heard, signal }: Heard): Promise<void> {
  let error: string | undefined;
  let finished = false;
  const onLine = (line: string): void => {
    const said = saidIn(line);
    if (said === undefined) return;
    heard();
    error ??= said.error;
    finished ||= said.done;
  };
  const limitMs = Number.MAX_SAFE_INTEGER;
  const terms = { method: 'POST', json: ask, limitMs, signal, headers: admin, onLine } as const;
  const answer = await sleeper.call('/v1/model/load', terms);
  if (signal.aborted) throw reasonOf(signal);
  if (answer.kind === 'refused') await itsEnd(sleeper);
  if (answer.kind !== 'answered' || answer.status !== 200) throw failed(failedCall(answer), sleeper);
  if (error !== undefined) throw failed(error, sleeper);
  if (!finished) throw failed('its answer ended before the load was done', sleeper);
  await checkLoaded(sleeper, ask, signal);
}

/** A connection that breaks is often the first that is heard of a process that ends. */
async function itsEnd({ child, clock }: Sleeper): Promise<void> {
  const ended = new AbortController();
  void child.exited.then(() => ended.abort());
  await pause(clock, ENDS_WITHIN_MS, ended.signal);
}

function failed(why: string, { child }: Sleeper): DriverError {
  return new DriverError(`TabbyAPI could not load the model: ${why}`, troubleIn([why]) ?? troubleIn(child.tail(40)));
}

/** A file in the model's folder may overrule what it was asked for. */
async function checkLoaded(sleeper: Sleeper, ask: LoadAsk, signal: AbortSignal): Promise<void> {
  const answer = await sleeper.call('/v1/model', { method: 'GET', limitMs: ASK_MS, signal });
  const has = fieldOf(answer, 'parameters');
  if (answer.kind !== 'answered' || answer.status !== 200)
    throw new DriverError(`TabbyAPI has loaded the model and does not show it: ${failedCall(answer)}`);
  if (typeof has !== 'object' || has === null) return;
  const other = Object.entries({ ...has }).find(
    ([key, value]) => LOOKED_AT.includes(key) && key in ask && ask[key] !== value,
  );
  if (other === undefined) return;
  const [key, value] = other;
  throw new DriverError(
    `TabbyAPI has loaded the model with ${key} ${String(value)} in place of ${String(ask[key])}: tabby_config.yml in the folder of the model overrules it`,
    'bad_flag',
  );
}

const LOOKED_AT: readonly string[] = ['cache_size', 'cache_mode'];

function saidIn(line: string): Said | undefined {
  if (!line.startsWith('data:')) return undefined;
  try {
    const value: unknown = JSON.parse(line.slice('data:'.length));
    if (typeof value !== 'object' || value === null) return undefined;
    const { error, status, model_type: type } = { error: undefined, status: undefined, model_type: 'model', ...value };
    if (error !== undefined) return { error: messageOf(error), done: false };
    return { done: status === 'finished' && type === 'model' };
  } catch {
    return undefined;
  }
}

const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
