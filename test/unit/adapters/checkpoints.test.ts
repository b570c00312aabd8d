import { join } from 'node:path';
import { test } from 'vitest';
import { CriuCheckpoints } from '../../../src/adapters/checkpoints.ts';
import { Criu } from '../../../src/adapters/criu.ts';
import { ImageStore } from '../../../src/adapters/images.ts';
import type { ProcessTable } from '../../../src/adapters/process-table.ts';
import type { CheckpointHost } from '../../../src/adapters/processes.ts';
import { engineId, modelId } from '../../../src/core/kinds.ts';
import { ScriptedChild, ScriptedProcesses } from '../engines/scripted-ports.ts';
import { testFolder } from '../../helpers/survivors.ts';

const model = modelId('alpha');
const never = new AbortController().signal;

/** A machine on which every save works, and a return does what the test says. */
async function machine(folder: string, onRevive: (revived: ScriptedChild) => void) {
  const self = { pid: 100, started: 1, parent: 1, group: 100, session: 100, alive: true };
  const table: ProcessTable = {
    ...{ self, boot: 'b', namespace: 'n', look: () => undefined, listNow: () => [] },
    list: async () => [],
    bearers: async () => new Set(),
  };
  const child = new ScriptedChild(700);
  const revived = new ScriptedChild(701);
  const host: CheckpointHost = {
    ...{ table, state: 's', markOf: () => '0'.repeat(32), hold: async () => () => {}, keepPort: () => () => {} },
    async help() {
      child.exit(null, 'SIGKILL');
      return { pid: 2_000_000, exited: Promise.resolve({ code: 0, signal: null }) };
    },
    async revive() {
      onRevive(revived);
      return { child: revived, ended: new Promise(() => {}), arrived: async () => false };
    },
  };
  const processes = new ScriptedProcesses();
  processes.answer = () => ({ code: 0, output: 'Version: 4.2\n' });
  const programs = { find: async () => ({ path: '/usr/sbin/criu', mark: '1' }) };
  const checkpoints = new CriuCheckpoints({
    host,
    criu: new Criu(
      { command: 'criu', plugins: undefined, cudaCheckpoint: 'cuda-checkpoint' },
      { programs, processes, isRoot: true },
    ),
    images: new ImageStore({ folder: join(folder, 'images'), maxBytes: 0, table, state: 's' }),
    programs,
    portIsFree: async () => true,
    onProblem: () => {},
  });
  await checkpoints.hindrance();
  return {
    checkpoint: await checkpoints.save(child, { engine: engineId(model, 0), model, port: 8_001 }, never),
    revived,
  };
}

test.skipIf(process.platform !== 'linux')(
  'a return that is given up while it begins is ended at once, since nobody else knows of it',
  async ({ expect, onTestFinished }) => {
    const { path, remove } = testFolder();
    onTestFinished(remove);
    const over = new AbortController();
    const { checkpoint, revived } = await machine(path, () => over.abort(new Error('superseded')));
    await expect(checkpoint.restore(over.signal)).rejects.toThrow('superseded');
    expect(revived.signals).toEqual(['SIGKILL']);
    expect(await revived.members()).toEqual([]);
  },
);
