import type { ExpectStatic } from 'vitest';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { SleepLevel } from '../../src/core/kinds.ts';
import type { Settings } from '../fixtures/lab/settings.ts';
import type { Start } from './e2e.ts';
import { configOf, gpusOf, inWords, playLane, type Lane } from './fault-lanes.ts';
import { Lab } from './lab.ts';
import { Metrics } from './metrics.ts';

/** What the tables of faults have in common: the models they are played with, and how they are played through the built product. */

/** So that what is frozen fits into the memory of the machine that plays this. */
export const SMALL = { weightsMib: 600, kvMib: 800 };

type Vllm = { readonly allowed?: readonly SleepLevel[]; readonly settings?: Partial<Settings> };

export const vllm =
  (sleep_level: SleepLevel, { allowed = [sleep_level, 5], settings }: Vllm = {}, extra_args: readonly string[] = []) =>
  (lab: Lab) =>
    lab.vllm({ ...SMALL, ...settings }, { sleep_level, levels_allowed: [...allowed], extra_args: [...extra_args] });

export const TOGETHER = ['--tensor-parallel-size', '2', '--enforce-eager', '--disable-custom-all-reduce'];

/** By whoever notices first. */
export const LATE = /did not end within|did not finish in time/;

/** In the lab nothing takes its time to be free, but for a process that is still ending on a busy machine. */
export const gpu = (lab: Lab) => ({ ...lab.root.gpu, free_timeout_secs: 1.5 });
/** Long enough for whatever does not hang. */
export const whole = { sleep_timeout_secs: 120, wake_timeout_secs: 120 };
/** A criu that is at it takes its time where much else goes on. */
const PATIENT = 30;
export const patient = { sleep_timeout_secs: PATIENT, wake_timeout_secs: PATIENT, startup_timeout_secs: 3 * PATIENT };

export const LIMIT_MS = 600_000;

type Scene = { readonly expect: ExpectStatic; readonly start: Start; readonly folder: string };

export const labOf = (folder: string, lanes: readonly Lane[]): Lab =>
  new Lab(
    folder,
    Array.from({ length: gpusOf(lanes) }, () => 24_000),
  );

export async function allAsSaid(
  { expect, start, folder }: Scene,
  lanes: readonly Lane[],
  root: Omit<ConfigInput, 'models'>,
  lab = labOf(folder, lanes),
): Promise<void> {
  const catnap = await start(configOf(lab, lanes, { gpu: gpu(lab), ...root }), { env: lab.env });
  const seen = await Promise.all(lanes.map((lane) => playLane(catnap, lab, lane)));
  const table = (of: readonly (readonly string[])[]) =>
    Object.fromEntries(of.map((rows, at) => [lanes[at]?.name, rows]));
  expect(table(seen)).toEqual(table(lanes.map(({ rows }) => rows.map(inWords))));
  expect(lab.ledger.events('refused')).toEqual([]);
  const metrics = new Metrics((await catnap.get('/metrics')).text);
  expect(metrics.value('catnap_escalations_total')).toBe((await catnap.told('sleep-escalated')).length);
}
