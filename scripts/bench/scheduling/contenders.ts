import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput, ModelInput } from '../../../src/config/schema.ts';
import { POLICY_NAMES } from '../../../src/core/policy/index.ts';

export type Place = {
  readonly folder: string;
  readonly port: number;
  readonly models: readonly string[];
  /** A port for each model, for those who must be told one. */
  readonly ports: readonly number[];
  /** How many times faster than in the workload everything goes. */
  readonly speedUp: number;
  readonly log: string;
};

type Command = readonly [string, ...string[]];

/** A server that swaps engines: catnap under one of its policies, or a peer. */
export type Contender = {
  readonly name: string;
  readonly program: string;
  /** Writes its config and says how it is started. */
  readonly prepare: (program: string, place: Place) => Command;
};

/** What a swap takes, and how many requests an engine works on at a time, as in docs/scheduling.md. */
const COME_MS = 2_000;
const GO_MS = 2_000;
const PLACES = 16;
const MAX_WAIT_SECS = 30;
const AT_A_TIME = 100_000;

const ENGINE = join(import.meta.dirname, 'engine.ts');
const LAUNCHER = join(import.meta.dirname, '../../launch/catnap.mjs');

function engine(model: string, port: string, { speedUp, log }: Place, ready = ''): [string, ...string[]] {
  const times = ['--come-ms', String(COME_MS / speedUp), '--go-ms', String(GO_MS / speedUp)];
  const rest = [
    '--places',
    String(PLACES),
    '--log',
    log,
    '--model',
    model,
    ...(ready === '' ? [] : ['--ready', ready]),
  ];
  return [process.execPath, '--disable-warning=ExperimentalWarning', ENGINE, '--port', port, ...times, ...rest];
}

const catnap = (policy: (typeof POLICY_NAMES)[number]): Contender => ({
  name: `catnap ${policy}`,
  program: process.execPath,
  prepare: (node, place) => {
    const { folder, port, models, speedUp } = place;
    const model = (name: string): ModelInput => ({
      backend: 'command',
      command: engine(name, '${PORT}', place),
      target_inflight: PLACES,
    });
    const config: ConfigInput = {
      port,
      metrics_port: 0,
      state_dir: join(folder, 'state'),
      policy: {
        policy_type: policy,
        max_waiting: AT_A_TIME,
        request_timeout_secs: 3_600,
        max_wait_secs: MAX_WAIT_SECS / speedUp,
        coalesce_window_ms: 2_000 / speedUp,
        tick_interval_ms: 500 / speedUp,
        min_quantum_ms: 2_000 / speedUp,
      },
      models: Object.fromEntries(models.map((name) => [name, model(name)])),
    };
    return [node, LAUNCHER, '--config', written(folder, 'catnap.json', JSON.stringify(config))];
  },
});

const PEERS: readonly Contender[] = [
  {
    name: 'llama-swap',
    program: 'llama-swap',
    prepare: (program, place) => {
      const models = place.models.map((name) => [
        name,
        {
          cmd: engine(name, '${PORT}', place).join(' '),
          proxy: 'http://127.0.0.1:${PORT}',
          checkEndpoint: '/health',
          concurrencyLimit: AT_A_TIME,
        },
      ]);
      const config = { healthCheckTimeout: 60, captureBuffer: 0, models: Object.fromEntries(models) };
      const file = written(place.folder, 'llama-swap.yaml', JSON.stringify(config));
      return [program, '-config', file, '-listen', `127.0.0.1:${place.port}`];
    },
  },
  {
    name: 'llmux',
    program: 'llmux',
    prepare: (program, place) => {
      const models = place.models.map((name, at) => {
        const ready = join(place.folder, `${name}.ready`);
        const pid = join(place.folder, `${name}.pid`);
        const start = engine(name, String(place.ports[at]), place, ready).join(' ');
        const wake = `[ -e ${ready} ] || { setsid ${start} >/dev/null 2>&1 & echo $! > ${pid}; while [ ! -e ${ready} ]; do sleep 0.01; done; }`;
        const sleep = `[ ! -e ${ready} ] || { kill $(cat ${pid}); while [ -e ${ready} ]; do sleep 0.01; done; }`;
        return [name, { port: place.ports[at], wake, sleep, alive: `[ -e ${ready} ]` }];
      });
      const config = { port: place.port, models: Object.fromEntries(models) };
      return [program, '--config', written(place.folder, 'llmux.json', JSON.stringify(config))];
    },
  },
];

export const CONTENDERS: readonly Contender[] = [...POLICY_NAMES.map(catnap), ...PEERS];

function written(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
