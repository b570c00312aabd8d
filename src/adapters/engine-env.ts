/** The variable that every process of one start carries; its value is never used twice. */
export const MARK = 'CATNAP_ENGINE';

/**
 * What an engine inherits from our own environment, by what it is for; a name that ends in `*` stands for all that begin
 * so. Everything else must be asked for with `env` in the model's config.
 */
const INHERITED = {
  'the user and the machine': 'PATH HOME USER LOGNAME SHELL TZ TMPDIR LANG LANGUAGE LC_* XDG_*',
  'libraries and Python environments':
    'LD_LIBRARY_PATH DYLD_* VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONHOME PYTHONUNBUFFERED',
  'accelerators of NVIDIA': 'CUDA_* NVIDIA_* NCCL_*',
  'accelerators of AMD': 'HIP_* ROCR_* ROCM_* HSA_* GPU_* AMD_* MIOPEN_* RCCL_*',
  'other accelerators': 'VK_* ZE_* ZES_* SYCL_* ONEAPI_* ASCEND_* METAL_* MTL_*',
  'threads and numerics': 'OMP_* KMP_* GOMP_* MKL_* OPENBLAS_* GGML_*',
  'where models are kept': 'HF_* HUGGINGFACE_* TRANSFORMERS_* TOKENIZERS_* MODELSCOPE_* LLAMA_CACHE',
  'engines and what they compile with': 'TORCH_* PYTORCH_* TORCHINDUCTOR_* TRITON_* VLLM_* SGLANG_*',
  'the way to the network':
    'HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy SSL_CERT_* REQUESTS_CA_BUNDLE CURL_CA_BUNDLE',
} as const satisfies Record<string, string>;

/**
 * Never inherited, although the list above would let them through: they would give an engine a key or a port that we
 * do not know of. Kubernetes sets the last ones for a service that happens to be called `vllm`.
 */
const NOT_INHERITED = 'VLLM_API_KEY VLLM_PORT VLLM_PORT_* VLLM_SERVICE_*';

const ALLOWED = Object.values(INHERITED).flatMap((names) => names.split(' '));
const DENIED = NOT_INHERITED.split(' ');

type Environment = Readonly<Record<string, string | undefined>>;

/** The whole environment of an engine: what it inherits, what its config adds, and its mark. */
export function engineEnvironment(ours: Environment, configured: Environment, mark: string): Record<string, string> {
  return { ...inheritedFrom(ours), ...defined(configured), [MARK]: mark };
}

/** The clean base alone. */
export function inheritedFrom(ours: Environment): Record<string, string> {
  const inherited = defined(ours, (name) => matches(ALLOWED, name) && !matches(DENIED, name));
  const path = inherited['PATH'];
  return path === undefined ? inherited : { ...inherited, PATH: withoutNpm(path) };
}

/** npm puts its own folders first on PATH of what it runs; an engine found there would be another one than in a shell. */
function withoutNpm(path: string): string {
  return path
    .split(':')
    .filter((entry) => !/(^|\/)(node_modules\/\.bin|node-gyp-bin)\/?$/.test(entry))
    .join(':');
}

const matches = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern));

function defined(environment: Environment, keep: (name: string) => boolean = () => true): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) if (value !== undefined && keep(name)) kept[name] = value;
  return kept;
}
