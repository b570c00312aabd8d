import { grouped } from './groups.ts';
import { Macros } from './macros.ts';
import { fieldsOf, numberOf, textOf, textsOf, type Fields, type Notes } from './notes.ts';
import { argvOf, servedBy, withoutComments } from './served.ts';

type Env = Readonly<Record<string, string | undefined>>;

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:/@+-]{0,199}$/;
/** How long llama-swap lets requests wait: without an end. Here there is one. */
const WAIT_SECS = 600;

const OURS_IS_OTHER: Readonly<Record<string, string>> = {
  logLevel: 'is CATNAP_LOG here',
  logTimeFormat: 'has no counterpart',
  logToStdout: 'is CATNAP_LOG and -v here',
  store: 'has no counterpart: catnap keeps no activity on disk',
  metricsMaxInMemory: 'is `journal_entries` here, which has its own default',
  captureBuffer: 'has no counterpart: prompts and answers are not kept',
  ui: 'has no counterpart',
  performance: 'has no counterpart: Prometheus reads `metrics_port`',
  includeAliasesInList: 'is so here in any case',
  sendLoadingState: 'is so here in any case: streams that wait are told in SSE comments',
  upstream: 'is `upstream_asset_paths` here, which has the same default',
  profiles: 'has no counterpart: use `aliases`, and change them in the config',
};

const OF_MODELS: Readonly<Record<string, string>> = {
  name: 'is only shown there, and was left out',
  description: 'is only shown there, and was left out',
  metadata: 'is only shown there, and was left out',
  capabilities: 'is only shown there, and was left out',
  unlisted: 'has no counterpart: the model is listed; give keys only the models they may ask',
  compat: 'has no counterpart',
  sendLoadingState: 'is so here in any case',
};

const KNOWN = [
  'cmd',
  'cmdStop',
  'proxy',
  'aliases',
  'env',
  'checkEndpoint',
  'ttl',
  'unloadTimeout',
  'useModelName',
  'concurrencyLimit',
  'filters',
  'macros',
  'timeouts',
];

/** A config of llama-swap in our words. What cannot be said in them is noted. */
export function fromLlamaSwap(file: Fields, env: Env, notes: Notes): Fields {
  const macros = new Macros(new Map(Object.entries(fieldsOf(file['macros']))), env, notes);
  const aliases: Record<string, Fields> = {};
  const models: Record<string, Fields> = {};
  for (const [name, written] of Object.entries(fieldsOf(file['models']))) {
    const at = `models.${name}`;
    const raw = fieldsOf(written);
    const own = macros.of(name, fieldsOf(raw['macros']));
    if (!NAME.test(name)) notes.add(at, 'was left out: it has a name that models cannot have here');
    else {
      const model = modelOf(
        name,
        fieldsOf(own.filled({ ...raw, macros: undefined, cmd: withoutComments(raw['cmd']) }, at)),
        notes,
        aliases,
      );
      if (model !== undefined) models[name] = model;
    }
  }
  const routing = fieldsOf(fieldsOf(file['routing'])['router']);
  const settings = fieldsOf(routing['settings']);
  const groups = fieldsOf(settings['groups'] ?? file['groups']);
  const matrix = settings['matrix'] ?? file['matrix'];
  const usesMatrix = routing['use'] === 'matrix' || (matrix !== undefined && settings['groups'] === undefined);
  if (matrix !== undefined)
    notes.add(
      'matrix',
      'is not carried over: say what each model takes with `footprint`, and the hardware has with `stages`',
    );
  const { stages, models: places } = grouped(usesMatrix ? {} : groups, Object.keys(models), notes);
  for (const [name, place] of places) models[name] = { ...models[name], ...place };
  for (const [name, peer] of Object.entries(fieldsOf(file['peers']))) peers(name, fieldsOf(peer), models, notes);
  selectors(fieldsOf(file['selectors']), models, aliases, notes);
  rest(file, notes);
  const ttl = numberOf(file['globalTTL']) ?? 0;
  const preload = textsOf(fieldsOf(fieldsOf(file['hooks'])['on_startup'])['preload']).filter((model) => {
    const isThere = models[model] !== undefined;
    if (!isThere) notes.add('hooks.on_startup.preload', `names ${model}, which is no model here`);
    return isThere;
  });
  return {
    ...(numberOf(file['healthCheckTimeout']) !== undefined && {
      startup_timeout_secs: Math.max(15, numberOf(file['healthCheckTimeout']) ?? 120),
    }),
    ...(stages !== undefined && { stages }),
    models,
    ...(Object.keys(aliases).length > 0 && { aliases }),
    ...(preload.length > 0 && { preload }),
    ...keysOf(file, notes),
    policy: {
      policy_type: 'slack',
      max_wait_secs: 30,
      request_timeout_secs: WAIT_SECS,
      ...(ttl > 0 && { demote: [{ after_secs: ttl, level: 5 }] }),
    },
  };
}

function modelOf(name: string, model: Fields, notes: Notes, aliases: Record<string, Fields>): Fields | undefined {
  const at = `models.${name}`;
  const argv = argvOf(textOf(model['cmd']) ?? '');
  if (argv === undefined) {
    notes.add(`${at}.cmd`, 'cannot be read as a command line, so the model was left out');
    return undefined;
  }
  const served = servedBy(argv, at, notes);
  const port = portOf(model, argv);
  if (port === 'elsewhere') {
    notes.add(
      `${at}.proxy`,
      'is not on this machine, so the model was left out: make it one of the backend `openai_remote`',
    );
    return undefined;
  }
  if (port === 'unknown') {
    notes.add(`${at}.cmd`, 'does not tell the server its port, and neither does `proxy`, so the model was left out');
    return undefined;
  }
  notes.unused(`${at}.`, model, OF_MODELS);
  notes.unknown(`${at}.`, { ...model, macros: undefined }, [...KNOWN, ...Object.keys(OF_MODELS)]);
  const filters = filtersOf(name, fieldsOf(model['filters']), notes, aliases);
  const timeouts = fieldsOf(model['timeouts']);
  notes.unknown(`${at}.timeouts.`, timeouts, ['responseHeader']);
  const limit = numberOf(model['concurrencyLimit']) ?? 0;
  if (limit > 0)
    notes.add(
      `${at}.concurrencyLimit`,
      'is `target_inflight`: those beyond it wait here, in place of being answered 429',
    );
  const answer = numberOf(timeouts['responseHeader']) ?? 0;
  const stop = textOf(model['cmdStop']);
  const stopArgv = stop === undefined ? undefined : argvOf(stop);
  const isCommand = served['backend'] === 'command';
  if (stopArgv !== undefined && !isCommand)
    notes.add(`${at}.cmdStop`, 'was left out: catnap knows how to stop this server');
  const check = textOf(model['checkEndpoint']);
  const names = textsOf(model['aliases']).filter((alias) => alias !== name);
  return {
    ...served,
    ...(typeof port === 'number' && { port }),
    ...(isCommand && check !== undefined && check !== '/health' && { readiness_path: check }),
    ...(isCommand && stopArgv !== undefined && { stop_command: stopArgv }),
    ...(names.length > 0 && { aliases: names }),
    ...envOf(model, at, notes),
    ...ttlOf(model),
    ...((numberOf(model['unloadTimeout']) ?? 0) > 0 && { stop_grace_secs: model['unloadTimeout'] }),
    ...((textOf(model['useModelName']) ?? '') !== '' && { served_model_name: model['useModelName'] }),
    ...(limit > 0 && { target_inflight: limit }),
    ...(answer > 0 && { response_timeout_secs: answer }),
    ...filters,
  };
}

/** Undefined: the one that catnap chooses. */
function portOf({ proxy }: Fields, argv: readonly string[]): number | 'elsewhere' | 'unknown' | undefined {
  const takesOurs = argv.some((arg) => arg.includes('${PORT}'));
  const text = textOf(proxy) ?? '';
  if (text === '' || text.includes('${PORT}')) return takesOurs ? undefined : 'unknown';
  if (!URL.canParse(text)) return 'elsewhere';
  const { hostname, port } = new URL(text);
  if (!['localhost', '127.0.0.1', '[::1]'].includes(hostname)) return 'elsewhere';
  return port === '' ? 80 : Number(port);
}

/** -1: as for all. 0: never, also where the others go. */
function ttlOf(model: Fields): Fields {
  const ttl = numberOf(model['ttl']) ?? -1;
  if (ttl < 0) return {};
  return { demote: ttl === 0 ? [] : [{ after_secs: ttl, level: 5 }] };
}

function envOf(model: Fields, at: string, notes: Notes): Fields {
  const pairs = textsOf(model['env']).flatMap((line) => {
    const [name = '', ...value] = line.split('=');
    if (/^[A-Za-z_]\w*$/.test(name)) return [[name, value.join('=')] as const];
    notes.add(`${at}.env`, `holds ${JSON.stringify(name)}, which is no name of a variable`);
    return [];
  });
  return pairs.length === 0 ? {} : { env: Object.fromEntries(pairs) };
}

function filtersOf(name: string, filters: Fields, notes: Notes, aliases: Record<string, Fields>): Fields {
  const at = `models.${name}.filters.`;
  notes.unknown(at, filters, ['stripParams', 'setParams', 'setParamsByID']);
  const strip = (textOf(filters['stripParams']) ?? '').split(',').map((param) => param.trim());
  const stripped = strip.filter((param) => param !== '' && param !== 'model');
  let set = withoutModel(fieldsOf(filters['setParams']));
  for (const [id, params] of Object.entries(fieldsOf(filters['setParamsByID']))) {
    if (id === name) set = { ...set, ...withoutModel(fieldsOf(params)) };
    else aliases[id] = { models: [name], set_params: withoutModel(fieldsOf(params)) };
  }
  return {
    ...(stripped.length > 0 && { strip_params: stripped }),
    ...(Object.keys(set).length > 0 && { set_params: set }),
  };
}

const withoutModel = ({ model: _model, ...params }: Fields): Fields => params;

/** Each model of a peer is one of ours that is served elsewhere. */
function peers(name: string, peer: Fields, models: Record<string, Fields>, notes: Notes): void {
  const at = `peers.${name}`;
  notes.unknown(`${at}.`, peer, ['proxy', 'models', 'apiKey', 'filters']);
  const variable = /^\$\{env\.([^}]+)\}$/.exec(textOf(peer['apiKey']) ?? '')?.[1];
  if (peer['apiKey'] !== undefined && variable === undefined)
    notes.add(`${at}.apiKey`, 'was left out: name a variable or a file that holds it (`api_key_env`, `api_key_file`)');
  for (const model of textsOf(peer['models'])) {
    const id = `${name}/${model}`;
    if (!NAME.test(id)) notes.add(`${at}.models`, `has ${model}, which has a name that models cannot have here`);
    else
      models[id] = {
        backend: 'openai_remote',
        url: peer['proxy'],
        served_model_name: model,
        ...(variable !== undefined && { api_key_env: variable }),
        ...filtersOf(id, fieldsOf(peer['filters']), notes, {}),
      };
  }
}

function selectors(written: Fields, models: Fields, aliases: Record<string, Fields>, notes: Notes): void {
  for (const [name, value] of Object.entries(written)) {
    const { strategy, targets } = fieldsOf(value);
    const known = textsOf(targets).filter((target) => models[target] !== undefined);
    for (const target of textsOf(targets))
      if (models[target] === undefined) notes.add(`selectors.${name}`, `names ${target}, which is no model here`);
    if (known.length === 0) continue;
    if (strategy === 'spillover')
      notes.add(`selectors.${name}`, 'takes the model with the fewest requests of those that are awake');
    const prefer = strategy === 'pin' ? 'first' : strategy === 'spillover' ? 'least_loaded' : 'awake';
    aliases[name] = { models: known, prefer };
  }
}

/** Keys of clients that stand in the file itself are not written down again. */
function keysOf(file: Fields, notes: Notes): Fields {
  const keys = textsOf(file['apiKeys']).flatMap((key, n) => {
    const variable = /^\$\{env\.([^}]+)\}$/.exec(key)?.[1];
    if (variable !== undefined) return [{ name: `key-${n + 1}`, key_env: variable, admin: true }];
    notes.add(
      `apiKeys[${n}]`,
      'was left out, as a key does not stand in the config here: `catnap key NAME --stdin` makes its hash',
    );
    return [];
  });
  return keys.length === 0 ? {} : { keys };
}

function rest(file: Fields, notes: Notes): void {
  notes.unused('', file, OURS_IS_OTHER);
  const priority = fieldsOf(fieldsOf(fieldsOf(fieldsOf(file['routing'])['scheduler'])['settings'])['fifo'])['priority'];
  if (priority !== undefined)
    notes.add('routing.scheduler', 'is not carried over: here keys and requests have priorities, not models');
  const seconds = numberOf(file['unloadTimeout']);
  if (seconds !== undefined && seconds !== 10)
    notes.add('unloadTimeout', 'is `stop_grace_secs` here, which has its own default');
  notes.add(
    'policy',
    `is ours: \`slack\`, and requests wait for ${WAIT_SECS} s at most; llama-swap lets them wait for ever`,
  );
  notes.unknown('', file, [
    ...Object.keys(OURS_IS_OTHER),
    'healthCheckTimeout',
    'startPort',
    'globalTTL',
    'unloadTimeout',
    'macros',
    'apiKeys',
    'selectors',
    'models',
    'hooks',
    'routing',
    'peers',
    'groups',
    'matrix',
    '$schema',
  ]);
}
