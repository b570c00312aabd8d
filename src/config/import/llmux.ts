import { fieldsOf, type Fields, type Notes } from './notes.ts';

const TOP = [
  'models',
  'port',
  'metrics_port',
  'admin_port',
  'vllm_command',
  'startup_timeout_secs',
  'policy',
  'checkpoint',
];
const OF_A_MODEL = ['model_path', 'port', 'sleep_level', 'extra_args'];
const OF_THE_POLICY = [
  'policy_type',
  'request_timeout_secs',
  'drain_before_switch',
  'sleep_level',
  'min_active_secs',
  'coalesce_window_ms',
  'amortization_factor',
  'max_wait_secs',
  'tick_interval_ms',
  'min_quantum_ms',
];
const OF_CHECKPOINTS = ['criu_path', 'cuda_plugin_dir', 'images_dir', 'cuda_checkpoint_path'];

const GONE: Readonly<Record<string, string>> = {
  checkpoint_path: 'was left out: an image that llmux made cannot be restored here',
  keep_images: 'was left out: see `checkpoint` in docs/config.md for what becomes of images here',
  object_store: 'was left out: images stay on this machine',
};

/** A config of llmux in our words. Its first form is valid as it is; later ones said how deep a model sleeps in other words. */
export function fromLlmux(file: Fields, notes: Notes): Fields {
  const warmup = file['warmup'] === true;
  const models: Record<string, Fields> = {};
  for (const [name, written] of Object.entries(fieldsOf(file['models']))) {
    const model = fieldsOf(written);
    const at = `models.${name}.`;
    if (model['wake'] !== undefined || model['alive'] !== undefined) {
      notes.add(
        `models.${name}`,
        'was left out: it is started by shell commands (`wake`, `sleep`, `alive`); make it one of the backend `command`',
      );
      continue;
    }
    notes.unused(at, model, GONE);
    notes.unknown(at, model, [...OF_A_MODEL, 'eviction', ...Object.keys(GONE)]);
    const level = levelOf(model, at, notes);
    models[name] = {
      ...only(model, OF_A_MODEL),
      ...(level !== undefined && { sleep_level: level }),
      ...(warmup && { warmup: true }),
    };
  }
  const { request_timeout_secs: waits, ...rest } = fieldsOf(file['policy']);
  const policy = waits === null || waits === undefined ? rest : { ...rest, request_timeout_secs: waits };
  if (waits === null)
    notes.add('policy.request_timeout_secs', 'was left out: llmux lets requests wait for ever, here there is an end');
  notes.unknown('policy.', policy, [...OF_THE_POLICY, 'eviction']);
  const level = levelOf(policy, 'policy.', notes);
  const checkpoint = fieldsOf(file['checkpoint']);
  notes.unused('checkpoint.', checkpoint, GONE);
  notes.unknown('checkpoint.', checkpoint, [...OF_CHECKPOINTS, ...Object.keys(GONE)]);
  notes.unknown('', file, [...TOP, 'warmup']);
  return {
    ...only(file, TOP),
    models,
    ...(file['policy'] !== undefined && {
      policy: { ...only(policy, OF_THE_POLICY), ...(level !== undefined && { sleep_level: level }) },
    }),
    ...(file['checkpoint'] !== undefined && { checkpoint: only(checkpoint, OF_CHECKPOINTS) }),
  };
}

const only = (fields: Fields, keys: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => keys.includes(key)));

/** What is done to the weights and what to the process, as one level. A number that is none was level 1 there. */
function levelOf(fields: Fields, at: string, notes: Notes): number | undefined {
  const { sleep_level: level, eviction } = fields;
  if (eviction === undefined) {
    if (typeof level !== 'number' || (Number.isInteger(level) && level >= 1 && level <= 5)) return undefined;
    notes.add(`${at}sleep_level`, `is ${level}, which llmux takes for 1`);
    return 1;
  }
  const { weights = 'retain', process = 'stop' } = fieldsOf(eviction);
  if (process === 'stop') return 5;
  if (process === 'checkpoint') return 4;
  if (process === 'cuda_suspend') return 3;
  if (weights === 'retain')
    notes.add(`${at}eviction`, 'keeps the weights on the GPU: that frees nothing here, so it is level 1');
  return weights === 'discard' ? 2 : 1;
}
