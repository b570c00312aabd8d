import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { openProcesses } from '../../../src/adapters/processes.ts';
import { checkpointsOf } from '../../../src/app/checkpoints.ts';
import { conversationsOf } from '../../../src/app/conversations.ts';
import { sweepKept } from '../../../src/app/sweeping.ts';
import { trialPlaceOf } from '../../../src/app/trial-place.ts';
import { configFrom } from '../../../src/config/load.ts';
import { testFolder } from '../../helpers/survivors.ts';

test.skipIf(process.platform !== 'linux')(
  'what a validation that was killed has left is gone with the next start, images and all',
  async ({ expect, onTestFinished }) => {
    const { path, remove } = testFolder();
    onTestFinished(remove);
    const [state_dir, images_dir] = [join(path, 'state'), join(path, 'images')];
    mkdirSync(state_dir);
    const models = { alpha: { backend: 'stub' } as const };
    const loaded = configFrom({ state_dir, checkpoint: { images_dir }, models }, 'test', {}, {});
    if (loaded.kind !== 'loaded') throw new Error(JSON.stringify(loaded));
    const { config } = loaded;
    const place = trialPlaceOf(config);
    mkdirSync(place.conversationsIn);
    writeFileSync(join(place.conversationsIn, 'a conversation'), 'dear');
    const image = join(images_dir, 'validation', 'alpha-0.aaaaaaaa.bbbbbbbb.cccccccc');
    mkdirSync(image, { recursive: true, mode: 0o700 });
    // Of a boot that is over.
    const owner = { boot: 'b', namespace: 'n', catnap: { pid: 90, started: 1 }, state: 's' };
    writeFileSync(join(image, 'catnap.json'), JSON.stringify(owner));
    const warned: string[] = [];
    const onProblem = (message: string): void => void warned.push(message);
    const processes = await openProcesses({
      stateDir: state_dir,
      ...{ logMaxBytes: 1_000_000, logKeep: 1, logTailLines: 10, onProblem },
    });
    onTestFinished(() => processes.close());
    const programs = { find: async () => undefined };
    const checkpoints = checkpointsOf({ config, processes, programs, onProblem });
    const conversations = conversationsOf(config);
    await sweepKept(config, { checkpoints, conversations, processes, programs, warned: onProblem });
    expect(existsSync(place.conversationsIn)).toBe(false);
    expect(readdirSync(images_dir)).toEqual([]);
    expect(warned).toEqual([]);
  },
);
