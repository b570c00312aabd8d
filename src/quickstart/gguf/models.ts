import { randomModel } from './random-model.ts';
import { countModel, sayModel } from './scripted-model.ts';
import { ensureGguf } from './writer.ts';

/** Writes a model that answers everything with `text`. A file that already is this model is left alone. */
export async function writeSayModel({ file, text }: { readonly file: string; readonly text: string }): Promise<void> {
  await ensureGguf(file, sayModel(text));
}

/** Writes a model that answers everything with ` 1 2 3 …` up to `count`. */
export async function writeCountModel({
  file,
  count,
}: {
  readonly file: string;
  readonly count: number;
}): Promise<void> {
  await ensureGguf(file, countModel(count));
}

/** Writes a model with random weights, of about `targetMb` megabytes or tiny. */
export async function writeRandomModel({
  file,
  ...wanted
}: {
  readonly file: string;
  readonly seed: number;
  readonly targetMb?: number;
}): Promise<void> {
  await ensureGguf(file, randomModel(wanted));
}
