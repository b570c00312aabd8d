/** Who may use a path: anybody, those who may ask models, those who run catnap. */
export type Access = 'open' | 'infer' | 'admin';

export type AccessRow = {
  /** A path; `/*` at its end stands for whatever is below it, `{id}` for the rest of the path, `?model=` for a query that names one. */
  readonly path: string;
  readonly methods: readonly ('GET' | 'POST' | 'any')[];
  readonly access: Access;
  /** `passed on` to the engine, `answered` by catnap, or `refused` since it is the stage's business. */
  readonly use: 'passed on' | 'answered' | 'refused';
  readonly meaning: string;
};

/** Inference by the engines' own names, outside `/v1`. */
const INFERENCE = [
  '/chat/completions',
  '/completions',
  '/completion',
  '/embeddings',
  '/embedding',
  '/responses',
  '/messages',
  '/messages/count_tokens',
  '/audio/speech',
  '/audio/transcriptions',
  '/audio/translations',
  '/infill',
  '/rerank',
  '/reranking',
  '/score',
  '/classify',
  '/pooling',
  '/tokenize',
  '/detokenize',
  '/apply-template',
  '/v2/embed',
  '/v2/rerank',
];

/** What changes an engine behind the back of the stage. */
const ENGINE_CONTROL = [
  '/abort_request',
  '/collective_rpc',
  '/continue_generation',
  '/flush_cache',
  '/init_weight_transfer_engine',
  '/load_lora_adapter',
  '/lora-adapters',
  '/pause',
  '/pause_generation',
  '/release_memory_occupation',
  '/reset_encoder_cache',
  '/reset_mm_cache',
  '/reset_prefix_cache',
  '/resume',
  '/resume_memory_occupation',
  '/scale_elastic_ep',
  '/shutdown',
  '/sleep',
  '/slots',
  '/start_profile',
  '/stop_profile',
  '/unload_lora_adapter',
  '/update_weights',
  '/update_weights_from_disk',
  '/wake_up',
];

const METRICS = 'The metrics, as on `metrics_port`.';
const LOOK = 'With `?model=`: of an engine that is awake; 409 where none is. It wakes nothing.';

const get = ['GET'] as const;
const post = ['POST'] as const;
const any = ['any'] as const;

/** Every path of the main port and who may use it. The first row that fits a path counts. */
export const ACCESS: readonly AccessRow[] = [
  { path: '/health', methods: get, access: 'open', use: 'answered', meaning: '200 until catnap exits.' },
  { path: '/livez', methods: get, access: 'open', use: 'answered', meaning: '200 until catnap exits.' },
  { path: '/readyz', methods: get, access: 'open', use: 'answered', meaning: '503 while catnap shuts down.' },
  { path: '/metrics?model=', methods: get, access: 'infer', use: 'passed on', meaning: LOOK },
  { path: '/metrics', methods: get, access: 'open', use: 'answered', meaning: METRICS },
  {
    path: '/v1/admin/*',
    methods: any,
    access: 'admin',
    use: 'answered',
    meaning: 'What operators see and do.',
  },
  { path: '/control/*', methods: any, access: 'admin', use: 'answered', meaning: "llmux's control API." },
  { path: '/v1/models', methods: get, access: 'infer', use: 'answered', meaning: 'The catalogue. It wakes nothing.' },
  { path: '/v1/models/{id}', methods: get, access: 'infer', use: 'answered', meaning: 'One model of the catalogue.' },
  { path: '/models', methods: get, access: 'infer', use: 'answered', meaning: 'The catalogue.' },
  { path: '/props', methods: get, access: 'infer', use: 'passed on', meaning: LOOK },
  { path: '/slots', methods: get, access: 'infer', use: 'passed on', meaning: LOOK },
  {
    path: '/upstream/*',
    methods: any,
    access: 'infer',
    use: 'passed on',
    meaning:
      "`/upstream/{model}/` is the root of that model's server. What controls it needs `admin`; what sleeps, wakes or ends it is refused.",
  },
  ...ENGINE_CONTROL.map((path): AccessRow => ({
    path: `${path}/*`,
    methods: any,
    access: 'admin',
    use: 'refused',
    meaning: 'Engine control, below `/v1` as well.',
  })),
  {
    path: '/v1/*',
    methods: any,
    access: 'infer',
    use: 'passed on',
    meaning: 'Inference: any route, present or future, of a request that names a model.',
  },
  ...INFERENCE.map((path): AccessRow => ({
    path,
    methods: post,
    access: 'infer',
    use: 'passed on',
    meaning: "Inference by an engine's own name.",
  })),
];

/** The rows that could fit a path, by how it begins, so that few have to be looked at. */
const BY_HEAD = new Map<string, readonly AccessRow[]>();
const headOf = (path: string): string => {
  const [, first = '', second = ''] = path.split(/[/?]/, 3);
  return first === 'v1' ? `v1/${second}` : first;
};
const IN_V1 = 'v1/*';
for (const { path, use } of ACCESS) {
  const head = headOf(path);
  for (const each of use === 'refused' ? [head, `v1/${head}`] : [head]) BY_HEAD.set(each, []);
}
for (const head of BY_HEAD.keys()) {
  const leadsTo = ({ path, use }: AccessRow): boolean =>
    [head, head.startsWith('v1/') ? IN_V1 : head].includes(headOf(path)) ||
    (use === 'refused' && head === `v1/${headOf(path)}`);
  BY_HEAD.set(head, ACCESS.filter(leadsTo));
}

/** The row that says who may use a path, or undefined when there is nothing at it. One that has the method comes before one that has not. */
export function accessTo(path: string, method = 'GET', namesModel = false): AccessRow | undefined {
  const head = headOf(path);
  const rows = BY_HEAD.get(head) ?? (head.startsWith('v1/') ? (BY_HEAD.get(IN_V1) ?? []) : []);
  let found: AccessRow | undefined;
  for (const row of rows) {
    if (!fits(row, path, namesModel)) continue;
    if (takes(row, method)) return row;
    found ??= row;
  }
  return found;
}

function takes({ methods }: AccessRow, method: string): boolean {
  return methods.some((one) => one === 'any' || one === method || (one === 'GET' && method === 'HEAD'));
}

function fits({ path: pattern, use }: AccessRow, path: string, namesModel: boolean): boolean {
  if (pattern.endsWith('?model=')) return namesModel && samePath(pattern.slice(0, -7), path);
  if (pattern.endsWith('/*')) {
    const base = pattern.slice(0, -2);
    if (isBelow(base, path)) return true;
    return use === 'refused' && isBelow(`/v1${base}`, path);
  }
  if (pattern.endsWith('{id}')) return path.startsWith(pattern.slice(0, -4)) && path.length > pattern.length - 4;
  return samePath(pattern, path);
}

const isBelow = (base: string, path: string): boolean => path === base || path.startsWith(`${base}/`);

const samePath = (pattern: string, path: string): boolean => path === pattern || path === `${pattern}/`;
