import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigInput, ModelInput } from '../../src/config/schema.ts';
import { Ledger, type Gpu } from '../fixtures/lab/ledger.ts';
import type { Settings } from '../fixtures/lab/settings.ts';
import type { TabbySettings } from '../fixtures/lab/tabby-settings.ts';
import type { SglangSettings } from '../fixtures/lab/sglang-settings.ts';

const PROGRAMS = join(import.meta.dirname, '../fixtures/lab');
const TOOLS = ['vllm', 'sglang', 'tabby', 'nvidia-smi', 'cuda-checkpoint'] as const;
type Tool = (typeof TOOLS)[number] | 'criu';

type VllmInput = Extract<ModelInput, { backend?: 'vllm_serve' | 'vllm' | undefined }>;
type SglangInput = Extract<ModelInput, { backend: 'sglang' }>;
type MoreSglang = Partial<Omit<SglangInput, 'env'>> & { readonly env?: Readonly<Record<string, string>> };
type TabbyInput = Extract<ModelInput, { backend: 'exllamav3' }>;
type MoreTabby = Partial<Omit<TabbyInput, 'env'>> & { readonly env?: Readonly<Record<string, string>> };
type More = Partial<Omit<VllmInput, 'env'>> & { readonly env?: Readonly<Record<string, string>> };

/** A file of settings by which vLLM works on two GPUs, so that no argument says it. */
export const TWO_GPUS = join(PROGRAMS, 'two-gpus.yaml');

/** Engines, tools and GPUs that are not there: separate programs over one ledger of memory, which goes wrong as it is told to. */
export class Lab {
  readonly ledger: Ledger;
  readonly #folder: string;
  #criu: string | undefined;

  /** By default one GPU that holds one model of the usual size and the sleeping rests of several. */
  constructor(folder: string, totalsMib: readonly number[] = [24_000]) {
    this.#folder = join(folder, 'lab');
    mkdirSync(join(this.#folder, 'bin'), { recursive: true });
    const gpus = totalsMib.map((totalMib, index): Gpu => ({ index, uuid: `GPU-lab-${index}`, totalMib }));
    this.ledger = Ledger.make(this.#folder, gpus);
    for (const tool of TOOLS) this.#program(tool, join(PROGRAMS, `${tool}.ts`));
    // Rights are not what is tested: whoever asks for more gets on as before.
    const sudo = `#!/bin/sh\n[ "$1" = -n ] && shift\nexec "$@"\n`;
    writeFileSync(join(this.#folder, 'bin', 'sudo'), sudo, { mode: 0o755 });
  }

  /** The driver's version, as far as cuda-checkpoint is concerned. */
  setDriver(version: '550' | '580'): void {
    this.ledger.plan({ point: 'cuda.driver', kind: version, times: 1_000_000 });
  }

  /** From now on the real criu there is can write its engines to disk, and knows of their GPU memory. */
  useCriu(path: string): void {
    this.#criu = path;
    this.#program('criu', join(PROGRAMS, 'criu.ts'), `env REAL_CRIU='${path}' `);
    this.#program('vllm', join(PROGRAMS, 'vllm.ts'), `perl '${join(PROGRAMS, 'no-io-uring.pl')}' `);
  }

  /** A plugin of criu that empties GPUs; it lies in the folder that is given back. */
  plugin(): string {
    const folder = join(this.#folder, 'plugins');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'cuda_plugin.so'), '');
    return folder;
  }

  /** How often one of its tools was started. */
  starts(name: Tool): number {
    const file = join(this.#folder, `${name}.starts`);
    return existsSync(file) ? readFileSync(file, 'latin1').split('\n').length - 1 : 0;
  }

  tool(name: Tool): string {
    return join(this.#folder, 'bin', name);
  }

  /** What catnap is started with, so that it finds the lab's tools. */
  get env(): Readonly<Record<string, string>> {
    return { PATH: `${join(this.#folder, 'bin')}:${process.env['PATH'] ?? ''}` };
  }

  /** The keys of a config that lead to the lab's tools. */
  get root(): Omit<ConfigInput, 'models'> {
    return {
      vllm_command: this.tool('vllm'),
      sglang_command: [this.tool('sglang'), '-m', 'sglang.launch_server'],
      exllamav3_command: this.tool('tabby'),
      gpu: { nvidia_smi_path: this.tool('nvidia-smi'), free_timeout_secs: 2 },
      checkpoint: {
        cuda_checkpoint_path: this.tool('cuda-checkpoint'),
        ...(this.#criu !== undefined && { criu_path: this.tool('criu'), images_dir: join(this.#folder, 'images') }),
      },
    };
  }

  /** What makes the streams of a model go on until they are let end. */
  flow(name: string): { readonly flowWhile: string; end(): void } {
    const flowWhile = join(this.#folder, `${name}.flows`);
    writeFileSync(flowWhile, '');
    return { flowWhile, end: () => rmSync(flowWhile) };
  }

  /** A model on the vLLM that is not there. */
  vllm(settings: Partial<Settings> = {}, { env = {}, ...more }: More = {}): VllmInput {
    return { model_path: 'lab/model', env: { ...env, LAB_VLLM: JSON.stringify(settings) }, ...more };
  }

  /** A model on the SGLang that is not there. */
  sglang(settings: Partial<SglangSettings> = {}, { env = {}, ...more }: MoreSglang = {}): SglangInput {
    const own = { LAB_SGLANG: JSON.stringify(settings) };
    return { backend: 'sglang', model_path: 'lab/model', env: { ...env, ...own }, ...more };
  }

  /** A model on the TabbyAPI that is not there. */
  tabby(settings: Partial<TabbySettings> = {}, { env = {}, ...more }: MoreTabby = {}): TabbyInput {
    const own = { LAB_TABBY: JSON.stringify(settings) };
    return { backend: 'exllamav3', model_path: '/lab/models/alpha', env: { ...env, ...own }, ...more };
  }

  #program(name: string, source: string, before = ''): void {
    const node = `exec ${before}'${process.execPath}' --disable-warning=ExperimentalWarning '${source}' "$@"`;
    writeFileSync(
      join(this.#folder, 'bin', name),
      `#!/bin/sh\nLAB='${this.#folder}'\nNODE_COMPILE_CACHE='${tmpdir()}/catnap-lab-cache'\nexport LAB NODE_COMPILE_CACHE\necho >>"$LAB/${name}.starts"\n${node}\n`,
      {
        mode: 0o755,
      },
    );
  }
}
