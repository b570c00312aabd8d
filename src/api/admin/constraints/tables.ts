/** What a load may change for one backend: how each field is shown, and what it takes. Operators' pages are built from it. */

type Integer = {
  readonly kind: 'integer';
  readonly minimum: number;
  readonly maximum?: number;
  readonly step: number;
  readonly default?: number;
  readonly unit?: string;
  readonly display_unit?: string;
};
type IntegerOrNull = {
  readonly kind: 'integer_or_null';
  readonly minimum: number;
  readonly maximum: number;
  readonly default: null;
  readonly null_means: string;
  readonly allowed_values: readonly number[];
};
type Float = {
  readonly kind: 'float';
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
};
type Enumeration = {
  readonly kind: 'enum';
  readonly default: string;
  readonly allowed_values: readonly string[];
  readonly examples: readonly string[];
};
type StringOrNull = {
  readonly kind: 'string_or_null';
  readonly format: string;
  readonly default?: string | null;
  readonly allowed_values?: readonly string[];
  readonly examples?: readonly string[];
};

export type Constraint = Integer | IntegerOrNull | Float | Enumeration | StringOrNull;
export type Constraints = Readonly<Record<string, Constraint>>;

/** Values that go well together. More is taken than is recommended. */
export type Recommendation = {
  readonly kind: 'pair_presets';
  readonly fields: readonly string[];
  readonly recommended_pairs: readonly Readonly<Record<string, string | number | null>>[];
  readonly notes?: readonly string[];
};
export type Recommendations = Readonly<Record<string, Recommendation>>;

const ggmlType = {
  kind: 'string_or_null',
  format: 'ggml_type_name',
  default: 'f16',
  allowed_values: ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'],
  examples: ['f16', 'q8_0', 'q4_0'],
} as const;

const bits = {
  kind: 'integer_or_null',
  minimum: 2,
  maximum: 8,
  default: null,
  null_means: 'fp16',
  allowed_values: [2, 3, 4, 5, 6, 7, 8],
} as const;

const VLLM: Constraints = {
  vllm_max_model_len: { kind: 'integer', minimum: 256, step: 256 },
  vllm_kv_cache_dtype: {
    kind: 'enum',
    default: 'auto',
    allowed_values: ['auto', 'fp8', 'fp8_e4m3', 'fp8_e5m2'],
    examples: ['auto', 'fp8'],
  },
  vllm_kv_cache_memory_bytes: {
    kind: 'integer',
    minimum: 268_435_456,
    step: 268_435_456,
    unit: 'bytes',
    display_unit: 'mib',
  },
  vllm_max_pixels: { kind: 'integer', minimum: 200_704, step: 200_704, unit: 'pixels' },
  vllm_speculative_method: {
    kind: 'string_or_null',
    format: 'vllm_speculative_method',
    default: null,
    examples: ['mtp', 'draft_model', 'mlp_speculator'],
  },
  vllm_speculative_model: {
    kind: 'string_or_null',
    format: 'hf_id_or_local_path',
    default: null,
    examples: ['google/gemma-4-26B-A4B-it-assistant'],
  },
  vllm_num_speculative_tokens: { kind: 'integer', minimum: 1, step: 1, default: 1 },
};

/** By the name of the backend. Those that are not here take nothing. */
export const CONSTRAINTS: Readonly<Record<string, Constraints>> = {
  vllm: VLLM,
  vllm_serve: VLLM,
  llama_server: {
    llama_server_n_ctx: { kind: 'integer', minimum: 1, step: 1 },
    llama_server_image_max_tokens: { kind: 'integer', minimum: 1, step: 1 },
    llama_server_spec_type: {
      kind: 'enum',
      default: 'draft-mtp',
      allowed_values: ['draft-mtp'],
      examples: ['draft-mtp'],
    },
    llama_server_spec_draft_n_max: { kind: 'integer', minimum: 1, maximum: 6, step: 1, default: 2 },
    llama_server_spec_draft_p_min: { kind: 'float', minimum: 0, maximum: 1, default: 0 },
  },
  llama_cpp: {
    gguf_n_ctx: { kind: 'integer', minimum: 1, step: 1 },
    gguf_flash_attn: {
      kind: 'enum',
      default: 'auto',
      allowed_values: ['on', 'off', 'auto'],
      examples: ['auto', 'on', 'off'],
    },
    gguf_type_k: ggmlType,
    gguf_type_v: ggmlType,
  },
  exllamav3: {
    exllama_cache_size: { kind: 'integer', minimum: 256, step: 256 },
    exllama_max_rq_tokens: { kind: 'integer', minimum: 1, step: 1 },
    exllama_cache_k_bits: bits,
    exllama_cache_v_bits: bits,
    exllama_cache_quant: { kind: 'string_or_null', format: '<bits>|<k_bits>,<v_bits>' },
  },
  ct2: {},
  openai_remote: {},
  stub: {},
};

const gguf = (type: string) => ({ label: `${type}/${type}`, gguf_type_k: type, gguf_type_v: type });

const exllama = (label: string, k: number | null, v: number | null) => ({
  label,
  exllama_cache_k_bits: k,
  exllama_cache_v_bits: v,
});

export const RECOMMENDATIONS: Readonly<Record<string, Recommendations>> = {
  llama_cpp: {
    gguf_cache_type_pairs: {
      kind: 'pair_presets',
      fields: ['gguf_type_k', 'gguf_type_v'],
      recommended_pairs: [gguf('f16'), gguf('q8_0'), gguf('q4_0')],
      notes: [
        'Service-curated presets for GGUF cache types.',
        'Prefer symmetric GGUF K/V pairs by default; asymmetric pairs may reduce or disable GPU offload in upstream llama.cpp.',
      ],
    },
  },
  exllamav3: {
    exllama_cache_bit_pairs: {
      kind: 'pair_presets',
      fields: ['exllama_cache_k_bits', 'exllama_cache_v_bits'],
      recommended_pairs: [exllama('fp16', null, null), exllama('8/8', 8, 8), exllama('8/4', 8, 4)],
    },
  },
};
