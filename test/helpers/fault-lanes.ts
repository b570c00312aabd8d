import { readdirSync, renameSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ConfigInput } from '../../src/config/schema.ts';
import { RESIDENCIES, type Residency } from '../../src/core/residency.ts';
import type { Catnap } from './catnap.ts';
import type { Lab } from './lab.ts';

/** What a person does to a sleeper: kills the process that answers, damages its image. */
export type Hand = 'killed' | 'damaged';

/**
 * What goes wrong on which leg, where the model is then while the next one is served, whether it comes back as the same process, and
 * what the operator is told of it. What goes wrong is a point of a stand-in and a kind, several of them with `+` between.
 */
export type Row = readonly [
  leg: 'sleep' | 'asleep' | 'wake',
  fault: `${string} ${string}` | Hand | 'nothing',
  at: Residency,
  back: 'same' | 'fresh',
  told?: RegExp,
];

type ProcessInput = ReturnType<Lab['vllm'] | Lab['sglang'] | Lab['tabby']>;

/** One model on a GPU of its own, or on several, and another that needs its room; what goes wrong with it, one after the other. */
export type Lane = {
  readonly name: string;
  readonly model: (lab: Lab) => ProcessInput;
  readonly gpus?: number;
  readonly rows: readonly Row[];
};

const Residence = z.enum(Object.keys(RESIDENCIES) as [Residency, ...Residency[]]);
const Answer = z.object({ choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]) });

/** What it answers to a short question, or how it does not. */
export async function says(catnap: Catnap, model: string, more: object = {}): Promise<string> {
  const { status, text } = await catnap.chat(model, more);
  return status === 200 ? Answer.parse(JSON.parse(text)).choices[0].message.content : `${status} ${text}`;
}

/** How many GPUs all of them take together. */
export const gpusOf = (lanes: readonly Lane[]): number => lanes.reduce((sum, { gpus = 1 }) => sum + gpus, 0);

/** Every lane is a stage of its own, so that they do not wait for each other. */
export function configOf(lab: Lab, lanes: readonly Lane[], root: Omit<ConfigInput, 'models'>): ConfigInput {
  const stages: NonNullable<ConfigInput['stages']> = {};
  const models: ConfigInput['models'] = {};
  let next = 0;
  for (const { name, model, gpus = 1 } of lanes) {
    stages[name] = { gpus: Array.from({ length: gpus }, () => next++), slots: 1 };
    models[name] = { ...model(lab), stage: name };
    models[`next-${name}`] = { backend: 'stub', stage: name };
  }
  // What fails in a row is started again at once, however often it has failed in the rows before.
  const restart = { first_delay_secs: 0.01, longest_delay_secs: 0.02, crashes_before_giving_up: 100 };
  return { ...lab.root, restart, policy: { request_timeout_secs: 600 }, stop_grace_secs: 2, ...root, stages, models };
}

/** Plays all rows of a lane, and says of each what was seen, in the words of the row where it was as the row says. */
export async function playLane(catnap: Catnap, lab: Lab, lane: Lane): Promise<readonly string[]> {
  const { name, rows } = lane;
  const well = await says(catnap, name);
  if (!/^\w/.test(well)) return [`${name} does not start: ${well}`];
  const full = memoryOf(lab, name);
  const seen: string[] = [];
  for (const row of rows) seen.push(await playRow(catnap, lab, { name, well, full }, row));
  return seen;
}

type Subject = { readonly name: string; readonly well: string; readonly full: string };

async function playRow(catnap: Catnap, lab: Lab, { name, well, full }: Subject, row: Row): Promise<string> {
  const [leg, fault, , , told] = row;
  const from = catnap.lines.length;
  const { pid } = await catnap.engine(name);
  if (leg === 'sleep') goWrong(lab, name, fault);
  const next = await says(catnap, `next-${name}`);
  const shown = await catnap.model(name);
  const residency = Residence.parse(shown.residency);
  const wrong: string[] = [];
  if (!/\w/.test(next) || /^\d{3} /.test(next)) wrong.push(`the next model was not served: ${next}`);
  if (!RESTS[residency].test(memoryOf(lab, name))) wrong.push(`it holds ${memoryOf(lab, name)} while it is put away`);
  const holds = shown.engines[0]?.holds;
  if ((holds === null) !== (residency === 'none')) wrong.push(`it is shown to hold ${JSON.stringify(holds)}`);
  if ((holds?.gpu_mib ?? 0) !== sumOf(memoryOf(lab, name)))
    wrong.push(`it is shown to hold ${holds?.gpu_mib} MiB of GPU memory`);
  if (residency === 'disk' && !holds?.disk_mib) wrong.push('it is shown to take nothing of the disk');
  if (fault === 'smi missing') renameSync(`${lab.tool('nvidia-smi')}.away`, lab.tool('nvidia-smi'));
  if (fault.startsWith('smi ')) lab.ledger.calm();
  if (leg === 'asleep' && fault === 'killed') process.kill(pid, 'SIGKILL');
  if (fault === 'damaged') damage(lab, name);
  if (leg === 'wake') goWrong(lab, name, fault);
  const said = await says(catnap, name);
  if (said !== well) wrong.push(`it answers ${said}`);
  if (memoryOf(lab, name) !== full) wrong.push(`it holds ${memoryOf(lab, name)} when it is back`);
  for (const point of unmet(lab, name, fault)) wrong.push(`${point} did not happen`);
  await catnap.hearAll();
  const log = catnap.lines.slice(from).filter((line) => line['model'] === name && line.level !== 'debug');
  if (told !== undefined && !log.some(({ msg }) => told.test(msg)))
    wrong.push(`not told: ${String(told)} but ${log.map(({ msg }) => msg).join(' / ')}`);
  const back = (await catnap.engine(name)).pid === pid ? 'same' : 'fresh';
  // What it holds now that it is awake has been read by then.
  if (fault.startsWith('smi ')) await catnap.get('/v1/admin/gpu-memory');
  return [inWords([leg, fault, residency, back]), ...wrong].join('; ');
}

export const inWords = ([leg, fault, at, back]: Row): string => `${leg}: ${fault}: ${at}, then ${back}`;

/** What each process of it holds on its GPU. */
const memoryOf = (lab: Lab, model: string): string =>
  lab.ledger
    .holders()
    .flatMap((holder) => (holder.model === model ? [String(holder.mib)] : []))
    .join(' ');

const sumOf = (list: string): number => list.split(' ').reduce((sum, mib) => sum + Number(mib), 0);

/** What may be left while it is put away. */
const RESTS: Readonly<Record<Residency, RegExp>> = {
  gpu: /^never$/,
  host: /^700$/,
  dropped: /^[67]00$/,
  suspended: /^0( 0)*$/,
  disk: /^$/,
  none: /^$/,
};

const faultsOf = (fault: string): readonly (readonly [string, string])[] =>
  fault.split(' + ').flatMap((each) => {
    const [point = '', kind = ''] = each.split(' ');
    return kind === '' ? [] : [[point, kind] as const];
  });

/** What is wrong with nvidia-smi is so for everybody, until the row is over. */
function goWrong(lab: Lab, model: string, fault: string): void {
  if (fault === 'smi missing') renameSync(lab.tool('nvidia-smi'), `${lab.tool('nvidia-smi')}.away`);
  else
    for (const [point, kind] of faultsOf(fault))
      lab.ledger.plan(point === 'smi' ? { point, kind, times: 1_000 } : { point, kind, model });
}

/** Those that were planned and have not come to pass. */
function unmet(lab: Lab, model: string, fault: string): readonly string[] {
  return faultsOf(fault).flatMap(([point]) => (point === 'smi' ? [] : (lab.ledger.fault(point, model) ?? [])));
}

function damage(lab: Lab, model: string): void {
  const folder = lab.root.checkpoint?.images_dir ?? '';
  const image = readdirSync(folder).find((each) => each.startsWith(`${model}-0.`)) ?? '';
  truncateSync(join(folder, image, 'pages-1.img'), 4_096);
}
