import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExpectStatic } from 'vitest';
import { systemClock } from '../../../../src/adapters/system-clock.ts';
import { ModelList, ModelRow } from '../../../../src/api/admin/contract.ts';
import { App } from '../../../../src/app/app.ts';
import type { Fact } from '../../../../src/core/facts.ts';
import { chatBody, JSON_BODY } from '../../../helpers/catnap.ts';
import { ask, type Reply } from '../../../helpers/client.ts';
import { goodConfig, load } from '../../../helpers/config.ts';
import { EventStream } from '../../../helpers/event-stream.ts';
import { httpUpstream, seen, type Upstream } from '../../../helpers/upstream.ts';
import { waitFor } from '../../../helpers/wait-for.ts';

/** What a row is given: catnap itself, with models that cost nothing, and a way to expect things of it. */
export type Check = (app: RealApp, expect: ExpectStatic) => Promise<unknown>;

/** An item of the contract, what it says, and the proof. */
export type Row = readonly [item: number, says: string, check: Check];

export type Told = { readonly status: number; readonly headers: Reply['headers']; readonly json: Answer };
type Answer = {
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly details?: unknown;
    readonly model?: unknown;
  };
  readonly [key: string]: unknown;
};

/**
 * One catnap in this process, on real sockets. One model fits at a time. `a` and `long` wake on demand; `org/x` is the operators', may have
 * three engines and takes a moment to start; `off` is disabled, `bad` cannot be started; `v`, `l`, `g`, `c` are there to be looked at; `r` is far away.
 */
export class RealApp {
  readonly facts: Fact[] = [];
  /** The bodies that the far away model was sent. */
  readonly sent: string[] = [];
  readonly file: string;
  readonly written: string;
  readonly #folder: string;
  readonly #remote: Upstream;
  readonly #streams = new Set<EventStream>();
  #app: App | undefined;

  static async open(): Promise<RealApp> {
    const sent: string[] = [];
    const remote = await httpUpstream((req, res) => {
      void seen(req).then(({ body }) => {
        sent.push(body.toString());
        res.end('{}');
      });
    });
    const app = new RealApp(remote, sent);
    await app.#open();
    return app;
  }

  private constructor(remote: Upstream, sent: string[]) {
    this.#remote = remote;
    this.sent = sent;
    this.#folder = mkdtempSync(join(tmpdir(), 'catnap-checklist-'));
    this.file = join(this.#folder, 'state');
    this.written = JSON.stringify(this.#config());
  }

  #config() {
    const thinking = { modalities: ['text'], thinking_modes: ['default', 'disabled'] };
    return {
      port: 0,
      metrics_port: 0,
      state_dir: this.file,
      vllm_command: process.execPath,
      models: {
        a: { backend: 'stub', aliases: ['other/name'] },
        long: { backend: 'stub', tokens: 100_000, token_ms: 5, target_inflight: 1 },
        'org/x': { backend: 'stub', activation: 'explicit', replica_max: 3, start_ms: 60 },
        off: { backend: 'stub', enabled: false },
        bad: { backend: 'command', activation: 'explicit', command: '/no/such/program ${PORT}' },
        v: {
          backend: 'vllm_serve',
          activation: 'explicit',
          enabled: false,
          model_path: 'org/weights',
          api_key: 'hush-hush',
          prompt_format: 'gemma4_template',
          vllm_max_model_len: 4_096,
          extra_args: ['--max-num-seqs', '5', '--max-model-len', '1024', '--api-key', 'hush-hush'],
        },
        l: { backend: 'llama_server', enabled: false, model_path: '/no/such.gguf', llama_server_mmproj: '/no/mm.gguf' },
        g: {
          backend: 'llama_cpp',
          enabled: false,
          model_path: '/no/such.gguf',
          prompt_format: 'translategemma_template',
        },
        c: { backend: 'ct2', enabled: false, model_path: '/no/such', command: 'serve ${PORT}' },
        r: { backend: 'openai_remote', url: this.#remote.origin, capabilities: thinking },
        t: { backend: 'openai_remote', url: this.#remote.origin, prompt_format: 'translategemma_template' },
      },
    };
  }

  async #open(): Promise<void> {
    const fatal = (error: Error): never => {
      throw error;
    };
    this.#app = await App.open({
      config: goodConfig(this.#config()),
      metricsPortAsked: false,
      unconfigured: false,
      read: () => load(this.#config()),
      files: [],
      restart: () => Promise.resolve({ kind: 'refused', code: 'restart_refused', problems: ['a test'] }),
      log: { report: (fact) => this.facts.push(fact), showsOutput: false, engineLine: () => {} },
      clock: systemClock(),
      version: '1.2.3',
      env: { PATH: process.env['PATH'] },
      fatal,
    });
  }

  async close(): Promise<void> {
    await this.#app?.shutDown(0, 'the test');
    await this.#remote.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get port(): number {
    return this.#app?.port ?? 0;
  }

  async get(path: string): Promise<Told> {
    return told(await ask(this.port, path, { method: 'GET' }));
  }

  async post(path: string, body: object | string = '', headers: Record<string, string> = JSON_BODY): Promise<Told> {
    return told(await ask(this.port, path, { body: typeof body === 'string' ? body : JSON.stringify(body), headers }));
  }

  chat(model: string, more: object = {}): Promise<Told> {
    return this.post('/v1/chat/completions', chatBody(model, more));
  }

  /** A stream that goes on until it is left. */
  async stream(model = 'long'): Promise<EventStream> {
    const body = chatBody(model, { stream: true });
    const stream = await EventStream.open(this.port, '/v1/chat/completions', body);
    this.#streams.add(stream);
    return stream.begun();
  }

  at(model: string, act?: 'load' | 'unload', query = ''): string {
    return `/v1/admin/models/${model}${act === undefined ? '' : `/${act}`}${query}`;
  }

  load(model: string, body: object = {}, query = ''): Promise<Told> {
    return this.post(this.at(model, 'load', query), body);
  }

  unload(model: string, query = ''): Promise<Told> {
    return this.post(this.at(model, 'unload', query));
  }

  async list(): Promise<ModelList> {
    return ModelList.parse((await this.get('/v1/admin/models')).json);
  }

  async row(model: string): Promise<ModelRow> {
    return ModelRow.parse((await this.get(this.at(model))).json);
  }

  /** Waits until the row is so. */
  rowWhen(model: string, what: string, holds: (row: ModelRow) => boolean): Promise<ModelRow> {
    return waitFor(`${model} to be ${what}`, async () => {
      const row = await this.row(model);
      return holds(row) && row;
    });
  }

  /** Nobody asks for anything any more. */
  async calm(): Promise<void> {
    for (const stream of this.#streams) stream.leave();
    this.#streams.clear();
    await waitFor('nobody to be served', async () => {
      const { models } = await this.list();
      return models.every(({ queue_depth: waiting, inflight_requests: open }) => waiting + open === 0);
    });
  }

  /** As long as a stream keeps the room, whatever else is loaded waits for it. */
  async held(look: () => Promise<void>): Promise<void> {
    await this.is('long', 'loaded');
    const stream = await this.stream();
    try {
      await look();
    } finally {
      stream.leave();
    }
  }

  /** Brings a model to rest in this state. */
  async is(model: string, state: 'loaded' | 'unloaded'): Promise<ModelRow> {
    return waitFor(`${model} to be ${state}`, async () => {
      await (state === 'loaded' ? this.load(model) : this.unload(model, '?cancel=true'));
      const row = await this.row(model);
      return row.runtime_state === state && row;
    });
  }

  /** A model on its way up, or down with a request still open on it; then `look`, and all is as before. */
  async while(state: 'loading' | 'unloading', look: (model: string) => Promise<void>): Promise<void> {
    if (state === 'loading') {
      await this.is('org/x', 'unloaded');
      await this.load('org/x', {}, '?wait=false');
      await look('org/x');
      await this.is('org/x', 'loaded');
      return;
    }
    await this.is('long', 'loaded');
    const open = await this.stream();
    await this.unload('long', '?wait=false');
    await look('long');
    open.leave();
    await this.rowWhen('long', 'unloaded', ({ runtime_state: now }) => now === 'unloaded');
  }

  /** What this load of a model starts its engine with. */
  async commandLine(model: string, body: object = {}): Promise<string> {
    const starts = (): string[] =>
      this.facts.flatMap((fact) => (fact.kind === 'engine-started' && fact.model === model ? [fact.commandLine] : []));
    const before = starts().length;
    await this.load(model, body, '?wait=false');
    return waitFor(`${model} to be started`, () => starts()[before]);
  }
}

function told({ status, headers, text }: Reply): Told {
  return { status, headers, json: text.startsWith('{') ? JSON.parse(text) : { text } };
}

/** The code of an error, behind its status. */
export const said = ({ status, json }: Told): readonly [number, string | undefined] => [status, json.error?.code];
