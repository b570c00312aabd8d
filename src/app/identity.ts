import { createHash } from 'node:crypto';
import type { Config, ModelConfig } from '../config/schema.ts';
import type { Processes } from '../ports/process.ts';
import type { Programs } from '../ports/programs.ts';
import type { Identity } from '../ports/verdicts.ts';
import { UNKNOWN_DRIVER } from '../validate/verdicts.ts';

/** vLLM imports half of Python before it knows its own version. */
const VERSION_LIMIT_MS = 60_000;
const DRIVER_LIMIT_MS = 10_000;

/** The Python package that is the engine, where its program is Python itself. */
const PACKAGES: Readonly<Partial<Record<ModelConfig['backend'], string>>> = {
  sglang: 'sglang',
  exllamav3: 'exllamav3',
};
const PYTHON = /(^|\/)python[\d.]*$/;

type Means = { readonly programs: Programs; readonly processes: Pick<Processes, 'ask'> };

/** Settings of a model that change which engine is started, or how. */
const DECISIVE: readonly string[] = ['model_path', 'extra_args', 'command', 'env', 'cwd', 'readiness_path'];
const OWN = /^(llama_server|vllm|gguf|sglang|exllama)_/;

/** What of an engine can be told without running any of it, but for the driver, which is the machine's. */
export async function identityOf(
  model: ModelConfig,
  driver: string | undefined,
  { programs }: Pick<Means, 'programs'>,
): Promise<Omit<Identity, 'version'>> {
  const decisive = Object.entries(model)
    .filter(([key]) => DECISIVE.includes(key) || OWN.test(key))
    .map(([key, value]) => [key, key === 'env' ? revealed(value) : value] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const command = commandOf(model);
  const found = command === undefined ? undefined : await programs.find(command[0]);
  return {
    backend: model.backend,
    settings: hash(JSON.stringify(decisive)),
    // What starts the engine in turn (python, uv, conda) stays as it is when the engine is another: then its version tells.
    program: found === undefined || startsAnother(model) ? undefined : hash(`${found.path} ${found.mark}`),
    driver,
  };
}

/** As its program gives it; undefined for one that is not known to answer such a question. */
export async function versionOf(
  model: ModelConfig,
  { processes }: Pick<Means, 'processes'>,
): Promise<string | undefined> {
  const question = versionQuestion(model);
  if (question === undefined) return undefined;
  const { code, output } = await processes.ask(question, VERSION_LIMIT_MS);
  if (code !== 0) return undefined;
  return /^version: (.+)$/m.exec(output)?.[1]?.trim() ?? /^v?(\d+\.\d\S*)$/m.exec(output)?.[1];
}

const startsAnother = (model: ModelConfig): boolean =>
  (commandOf(model)?.length ?? 0) > 1 && versionQuestion(model) !== undefined;

function versionQuestion(model: ModelConfig): [string, ...string[]] | undefined {
  switch (model.backend) {
    case 'llama_server':
    case 'llama_cpp':
      return [...model.llama_server_command, '--version'];
    case 'vllm_serve':
      return [...model.vllm_command, '--version'];
    default: {
      const [program] = commandOf(model) ?? [];
      const name = PACKAGES[model.backend];
      if (name === undefined || program === undefined || !PYTHON.test(program)) return undefined;
      return [program, '-c', `import importlib.metadata as m; print(m.version("${name}"))`];
    }
  }
}

/** The version of the GPU's driver; undefined where there is no tool to ask. */
export async function driverOf(
  { gpu }: Pick<Config, 'gpu'>,
  { programs, processes }: Means,
): Promise<string | undefined> {
  const program = gpu.nvidia_smi_path;
  if ((await programs.find(program)) === undefined) return undefined;
  const query = [program, '--query-gpu=driver_version', '--format=csv,noheader'] as const;
  const { code, output } = await processes.ask([...query], DRIVER_LIMIT_MS);
  const [first = ''] = output.split('\n');
  return code === 0 && first.trim() !== '' ? first.trim() : UNKNOWN_DRIVER;
}

export function commandOf(model: ModelConfig): readonly [string, ...string[]] | undefined {
  switch (model.backend) {
    case 'vllm_serve':
      return model.vllm_command;
    case 'llama_server':
    case 'llama_cpp':
      return model.llama_server_command;
    case 'sglang':
      return model.sglang_command;
    case 'exllamav3':
      return model.exllamav3_command;
    case 'ct2':
    case 'command':
      return model.command;
    case 'openai_remote':
    case 'stub':
      return undefined;
    default:
      return model satisfies never;
  }
}

/** Only a hash of it is kept. */
function revealed(env: unknown): unknown {
  if (typeof env !== 'object' || env === null) return env;
  return Object.entries(env).map(([name, value]) => [name, 'reveal' in value ? value.reveal() : value]);
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);
