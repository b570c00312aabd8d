import { weightFiles } from './weight-files.ts';

const MIB = 1_048_576;

/** How much a model's files take, in MiB; undefined where there are none here, as for a model that has to be fetched. */
export async function artifactMib(path: string): Promise<number | undefined> {
  const files = await weightFiles(path);
  return files.length === 0 ? undefined : files.reduce((sum, { bytes }) => sum + bytes, 0) / MIB;
}
