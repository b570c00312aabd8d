/** Who may use a path: anybody, those who may ask models, those who run catnap. */
export type Access = 'open' | 'infer' | 'admin';

type AccessRow = {
  /** A path; `/*` at its end stands for whatever is below it, `{id}` for the rest of the path. */
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

const METRICS = 'The metrics, as on `metrics_port`. With `?model=`: those of an engine that is awake, passed on.';
const LOOK = 'With `?model=`: of an engine that is awake; 409 where none is. It wakes nothing.';

const get = ['GET'] as const;
const post = ['POST'] as const;
const any = ['any'] as const;

/** Every path of the main port and who may use it. The first row that fits a path counts. */
export const ACCESS: readonly AccessRow[] = [
  { path: '/health', methods: get, access: 'open', use: 'answered', meaning: '200 until catnap exits.' },
  { path: '/livez', methods: get, access: 'open', use: 'answered', meaning: '200 until catnap exits.' },
  { path: '/readyz', methods: get, access: 'open', use: 'answered', meaning: '503 while catnap shuts down.' },
  { path: '/metrics', methods: get, access: 'open', use: 'answered', meaning: METRICS },
  { path: '/v1/admin/*', methods: any, access: 'admin', use: 'answered', meaning: 'What operators see.' },
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
    meaning: "`/upstream/{model}/` is the root of that model's server. What controls it is refused.",
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

/** The row that says who may use a path, or undefined when there is nothing at it. */
export function accessTo(path: string): AccessRow | undefined {
  const bare = path.replace(/^\/v1(?=\/)/, '');
  return ACCESS.find((row) => fits(row.path, path) || (row.use === 'refused' && fits(row.path, bare)));
}

function fits(pattern: string, path: string): boolean {
  if (pattern.endsWith('/*')) {
    const base = pattern.slice(0, -2);
    return path === base || path.startsWith(`${base}/`);
  }
  if (pattern.endsWith('{id}')) return path.startsWith(pattern.slice(0, -4)) && path.length > pattern.length - 4;
  return path === pattern;
}
