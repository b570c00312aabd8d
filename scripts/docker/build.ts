import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, join, posix } from 'node:path';
import { execa } from 'execa';
import type { Dockerfile, Stage, Step } from './dockerfile.ts';

export type Place = {
  /** The folder that stands for the container's root. */
  readonly root: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
};

/** Performs the steps of every stage in folders of their own, and gives the last one's. `context` is what the builder would be sent. */
export async function build(dockerfile: Dockerfile, context: string, folder: string): Promise<Place> {
  const places = new Map<string, Place>();
  let last: Place | undefined;
  for (const stage of dockerfile.stages) {
    last = await buildStage(stage, { context, root: join(folder, stage.name), places });
    places.set(stage.name, last);
  }
  if (last === undefined) throw new Error('the Dockerfile has no FROM');
  return last;
}

type Ground = { readonly context: string; readonly root: string; readonly places: ReadonlyMap<string, Place> };

async function buildStage(stage: Stage, ground: Ground): Promise<Place> {
  // What the base image would bring is the Node that runs this.
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  let place: Place = { root: ground.root, workdir: '/', env: { PATH: path } };
  mkdirSync(ground.root, { recursive: true });
  for (const step of stage.steps) place = await perform(step, place, ground);
  return place;
}

async function perform(step: Step, place: Place, { context, places }: Ground): Promise<Place> {
  switch (step.kind) {
    case 'workdir': {
      mkdirSync(join(place.root, step.path), { recursive: true });
      return { ...place, workdir: step.path };
    }
    case 'env':
      return { ...place, env: { ...place.env, [step.name]: step.value } };
    case 'copy': {
      const from = step.from === undefined ? context : places.get(step.from)?.root;
      if (from === undefined) throw new Error(`COPY --from=${step.from}: there is no such stage`);
      for (const source of step.sources)
        copy(from, source, join(place.root, posix.resolve(place.workdir, step.to)), step.to);
      return place;
    }
    case 'run': {
      const { failed, all } = await inPlace(place, ['sh', '-c', step.command]);
      if (failed) throw new Error(`RUN ${step.command}\n${all}`);
      return place;
    }
  }
}

/** As COPY does it: a folder's content goes into the target, a file into a target that ends in a slash, else it becomes the target. */
function copy(from: string, source: string, target: string, written: string): void {
  const path = join(from, source);
  if (!existsSync(path))
    throw new Error(`COPY ${source}: it does not exist, or docker/Dockerfile.dockerignore keeps it out`);
  const into = statSync(path).isFile() && written.endsWith('/') ? join(target, basename(source)) : target;
  mkdirSync(dirname(into), { recursive: true });
  cpSync(path, into, { recursive: true });
}

/** Runs a command as the container would: in its folder, with its variables. What npm has fetched before need not be fetched again. */
export function inPlace({ root, workdir, env }: Place, [program = '', ...args]: readonly string[]) {
  return execa(program, args, {
    cwd: join(root, workdir),
    env: { ...env, npm_config_prefer_offline: 'true' },
    all: true,
    reject: false,
    stdin: 'ignore',
    timeout: 300_000,
  });
}

/** Copies what docker/Dockerfile.dockerignore lets through: a list that excludes everything and then names what is needed. */
export function copyContext(checkout: string, ignoreFile: string, context: string): void {
  const [everything, ...rest] = readFileSync(ignoreFile, 'utf8').trim().split('\n');
  if (everything !== '*' || !rest.every((line) => line.startsWith('!'))) {
    throw new Error(`${ignoreFile}: begin with * and then name with ! what the image needs`);
  }
  mkdirSync(context, { recursive: true });
  for (const name of rest.map((line) => line.slice(1))) {
    if (!existsSync(join(checkout, name))) throw new Error(`${ignoreFile} names ${name}, which does not exist`);
    cpSync(join(checkout, name), join(context, name), { recursive: true });
  }
}
