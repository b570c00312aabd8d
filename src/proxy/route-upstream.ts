import type { Denial } from '../access/denial.ts';
import { originForm } from '../access/path.ts';
import { steering } from './engine-control.ts';
import { isRead, controlsEngine, refused, type Head, type Route } from './route.ts';

/** Below it stand the models, and below each of them whatever its server answers. */
const UPSTREAM = '/upstream/';

export type UpstreamTerms = {
  /** Whether a model or an alias has this name. */
  readonly isModel: (name: string) => boolean;
  /** Paths of the servers' own pages, which wake no model. */
  readonly assets: readonly RegExp[];
  /** Why engines may not be steered; undefined when they may. Absent where nobody may. */
  readonly maySteer?: () => Denial | undefined;
};

/** Decides about `/upstream/{model}/*`; undefined for every other path. What follows the model goes to its server as it is written. */
export function routeUpstream({ method, url }: Head, { isModel, assets, maySteer }: UpstreamTerms): Route | undefined {
  const target = originForm(url);
  if (!target.startsWith(UPSTREAM)) return undefined;
  const mark = target.search(/[?#]/);
  const path = mark === -1 ? target : target.slice(0, mark);
  const tail = target.slice(path.length);
  const found = modelAt(path.slice(UPSTREAM.length).split('/'), isModel);
  if (found === undefined) {
    const message = `There is no model at the start of ${path.slice(0, 200)}. GET /v1/models lists the models.`;
    return refused('openai', 'model_not_found', message, 'model');
  }
  const { name, rest } = found;
  // Links on the server's pages are relative to its root.
  if (rest === undefined) return { kind: 'moved', to: `${path}/${tail}`, dialect: 'openai' };
  const parts = partsOf(rest);
  if (parts === undefined || tail.startsWith('#') || method === 'TRACE') {
    return refused(
      'openai',
      'invalid_request',
      'The path has dots, a control character or an escape that is no UTF-8.',
    );
  }
  if (controlsEngine(method, parts)) {
    const use = steering(parts);
    const message = `/${parts.join('/')} controls an engine. Only catnap does that; ask it instead.`;
    if (use === 'never' || maySteer === undefined) return refused('openai', 'forbidden', message);
    const denial = maySteer();
    if (denial !== undefined) return { kind: 'refused', refusal: denial, dialect: 'openai' };
    return {
      kind: 'infer',
      target: `/${rest}${tail}`,
      dialect: 'openai',
      named: { in: 'path', name },
      looks: true,
      steers: use,
    };
  }
  const looks = isRead(method) && assets.some((pattern) => pattern.test(`/${parts.join('/')}`));
  const dialect = parts[0] === 'v1' && parts[1] === 'messages' ? 'anthropic' : 'openai';
  return { kind: 'infer', target: `/${rest}${tail}`, dialect, named: { in: 'path', name }, looks };
}

/** The longest name of a model that the path begins with. Names may hold slashes, written as they are or as `%2F`. */
function modelAt(
  raw: readonly string[],
  isModel: (name: string) => boolean,
): { readonly name: string; readonly rest: string | undefined } | undefined {
  let found: ReturnType<typeof modelAt>;
  let name = '';
  for (const [at, segment] of raw.entries()) {
    const decoded = decode(segment);
    if (decoded === undefined || at > MOST_SEGMENTS) break;
    name = at === 0 ? decoded : `${name}/${decoded}`;
    if (isModel(name)) found = { name, rest: at + 1 < raw.length ? raw.slice(at + 1).join('/') : undefined };
  }
  return found;
}

const MOST_SEGMENTS = 16;

/** Every way in which a server may take a path apart leads to these parts; undefined where two ways lead to two paths. */
function partsOf(rest: string): readonly string[] | undefined {
  const decoded = decode(rest);
  if (decoded === undefined || /\p{Cc}/u.test(decoded)) return undefined;
  const parts = decoded.split(/[/\\]/).filter((part) => part !== '');
  return parts.some((part) => part === '.' || part === '..') ? undefined : parts;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
