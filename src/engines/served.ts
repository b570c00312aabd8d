import type { ModelId } from '../core/kinds.ts';
import type { EngineAnswer } from '../ports/engine-http.ts';
import type { Processes } from '../ports/process.ts';
import { DriverError } from './driver.ts';

/** Small things that the families of servers have in common. */

export const answersOk = (answer: EngineAnswer): boolean => answer.kind === 'answered' && answer.status === 200;

/** The key goes to the engine with every request, in place of whatever the client sent. */
export const bearer = (key: string | undefined): Readonly<Record<string, string>> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };

type Hidden = { reveal(): string };

/** An environment as the process gets it. */
const revealed = (env: Readonly<Record<string, Hidden>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.reveal()]));

type Placed = {
  readonly env: Readonly<Record<string, Hidden>>;
  readonly device?: string | undefined;
  readonly library_path?: string | undefined;
};

/** What the config says about the surroundings of an engine: the GPUs it sees, its libraries, its variables. */
export function surroundings({ env, device, library_path: libraries }: Placed): Record<string, string> {
  const gpus = device === 'cpu' ? '' : /^cuda:(.+)$/.exec(device ?? '')?.[1];
  return {
    ...(gpus !== undefined && { CUDA_VISIBLE_DEVICES: gpus, HIP_VISIBLE_DEVICES: gpus }),
    // Numbers are meant as nvidia-smi counts them; CUDA by itself would begin with the fastest.
    ...(gpus !== undefined && /\d/.test(gpus) && { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }),
    ...(libraries !== undefined && { LD_LIBRARY_PATH: libraries }),
    ...revealed(env),
  };
}

/** The program of a config key could not be found. */
export const missing = (program: string, software: string, key: string): DriverError =>
  new DriverError(
    `${program} was not found or may not be executed: install ${software}, or set ${key} to where it is`,
    'missing_program',
  );

/** For a process that could not be made: one whose program is not there stays like that, one that the system has no room for may not. */
export function notSpawned(error: unknown): never {
  if (!(error instanceof Error)) throw error;
  const code = error.cause instanceof Error && 'code' in error.cause ? error.cause.code : undefined;
  throw new DriverError(error.message, code === 'ENOENT' || code === 'EACCES' ? 'missing_program' : undefined);
}

/** The port that the config names, or a free one. */
export async function portFor(
  model: ModelId,
  port: number | undefined,
  processes: Pick<Processes, 'freePort' | 'portIsFree'>,
): Promise<number> {
  if (port === undefined) return processes.freePort();
  if (await processes.portIsFree(port)) return port;
  throw new DriverError(
    `port ${port} is in use by another program: end it, or change models.${model}.port`,
    'port_taken',
  );
}
