import type { Checkpoint, CheckpointOf, Checkpoints, KeptImage, Passport } from '../../../src/ports/checkpoints.ts';
import type { CheckpointLevel } from '../../../src/sleep/level-4.ts';
import { ScriptedChild } from '../engines/scripted-ports.ts';

/** A machine on which a save kills the process and a return gives another, unless the test says otherwise. */
export class ScriptedCheckpoints implements Checkpoints {
  readonly did: string[] = [];
  readonly passports: Passport[] = [];
  /** What was said to be on GPUs still. */
  readonly gpuMib: number[] = [];
  left: KeptImage | undefined;
  hinders: string | undefined;
  /** What it sleeps in makes room for another. */
  loseImage: () => void = () => undefined;
  onSave: () => void = () => undefined;
  onRestore: () => void = () => undefined;
  onBegin: Promise<void> = Promise.resolve();
  back: Promise<void> = Promise.resolve();
  returned = new ScriptedChild(7_001);

  async hindrance(): Promise<string | undefined> {
    return this.hinders;
  }

  async kept(): Promise<KeptImage | undefined> {
    return this.left;
  }

  async adopt(): Promise<Checkpoint> {
    this.did.push('adopt');
    return this.#checkpoint();
  }

  async save(child: ScriptedChild, { gpuMib }: CheckpointOf): Promise<Checkpoint> {
    this.did.push('save');
    this.gpuMib.push(gpuMib ?? 0);
    this.onSave();
    child.exit(null, 'SIGKILL');
    return this.#checkpoint();
  }

  #checkpoint(): Checkpoint {
    return {
      bytes: 1,
      release: () => ON_DISK,
      restore: async () => {
        this.did.push('restore');
        this.onRestore();
        return { child: this.returned, back: this.back };
      },
      whenGone: (tell) => void (this.loseImage = tell),
      drop: async () => void this.did.push('drop'),
      keep: async (passport) => void this.passports.push(passport),
    };
  }
}

export const ON_DISK = {
  path: '/images/alpha',
  listing: 'core-1.img 1 1',
  bytes: 1,
  connected: false,
  kept: 'no',
} as const;

export type Gpu = ConstructorParameters<typeof CheckpointLevel>[0]['suspension'];

/** A GPU that tells what is done with it; by default the engine uses none. */
export function gpuWay(did: string[], over: Partial<Gpu> = {}): Gpu {
  const step = (name: string) => async () => void did.push(name);
  return {
    frozen: { pids: [], needs: new Map() },
    recall: () => void did.push('recall'),
    concerns: async () => false,
    unusable: async () => undefined,
    lackOfMemory: async () => undefined,
    suspend: step('suspend'),
    note: async () => (did.push('note'), { pids: [] }),
    untilRoom: step('room'),
    resume: step('resume'),
    proveRunning: step('prove'),
    ...over,
  };
}
