import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { VramBook } from '../../../src/app/vram-book.ts';
import type { EnginePhase } from '../../../src/core/engine.ts';
import { engineId, millis, modelId, type ModelId } from '../../../src/core/kinds.ts';
import type { Gpu, GpuProcess } from '../../../src/ports/gpu.ts';
import type { ModelView } from '../../../src/runtime/view.ts';
import { goodConfig } from '../../helpers/config.ts';
import { waitFor } from '../../helpers/wait-for.ts';
import { model, phases, stage } from '../api/scene.ts';

const a = modelId('a');
const b = modelId('b');

/** A stage of two models and one GPU, moved by hand. */
class Machine {
  usedMib = 1_000;
  processes: GpuProcess[] = [];
  there = true;
  reads = 0;
  readonly bugs: unknown[] = [];
  readonly #views = new Map<ModelId, ModelView>([
    [a, model(a, phases.off)],
    [b, model(b, phases.off)],
  ]);
  readonly gpu: Gpu = {
    read: async () => {
      this.reads++;
      if (!this.there) return { kind: 'absent', reason: 'no tool' };
      const device = { uuid: 'g', index: 0, name: 'x', totalMib: 24_000, usedMib: this.usedMib, freeMib: 0 };
      return {
        kind: 'read',
        reading: { takenAt: millis(0), cameAt: millis(0), devices: [device], processes: this.processes },
      };
    },
  };
  readonly book = new VramBook({
    gpu: this.gpu,
    view: () => stage([...this.#views.values()]),
    kinOf: async (leaders) => new Map(leaders.map((pid) => [pid, [pid, pid + 100]])),
    bug: (error) => this.bugs.push(error),
  });

  set(name: ModelId, change: Partial<ModelView>): this {
    const before = this.#views.get(name);
    if (before !== undefined) this.#views.set(name, { ...before, ...change });
    return this;
  }

  move(name: ModelId, to: EnginePhase['kind'], phase: EnginePhase, replica = 0): this {
    const before = this.#views.get(name)?.engines ?? [];
    const engine = engineId(name, replica);
    const from = before.find((one) => one.engine === engine)?.phase.kind ?? 'off';
    const pid = to === 'awake' ? 41 + replica : undefined;
    const moved = { engine, phase, goal: { kind: 'off' }, pid, port: undefined } as const;
    this.set(name, { engines: [...before.filter((one) => one.engine !== engine), moved] });
    this.book.report({ kind: 'engine-moved', engine, model: name, from, to });
    return this;
  }

  /** One engine of it comes, and takes so much. */
  async load(name: ModelId, mib: number): Promise<void> {
    this.move(name, 'starting', phases.starting);
    await Promise.resolve();
    this.usedMib += mib;
    this.move(name, 'awake', phases.awake);
  }

  source(name: ModelId, replicas = 1): Promise<unknown> {
    return waitFor('what was seen', () => {
      const { source, mib, replicas: count } = this.book.of(name, replicas);
      return source === 'observed_load_delta' ? [mib, count] : undefined;
    });
  }
}

describe('how much GPU memory a model takes', () => {
  test('before its first load: the size of its files, for each replica', async ({ expect }) => {
    const folder = mkdtempSync(join(tmpdir(), 'catnap-vram-'));
    const file = join(folder, 'm.gguf');
    writeFileSync(file, Buffer.alloc(3 * 1_048_576));
    const { book } = new Machine();
    const { models } = goodConfig({
      models: { a: { backend: 'llama_server', model_path: file }, b: { backend: 'stub' } },
    });
    await book.measure({ models });
    rmSync(folder, { recursive: true });
    expect(book.of('a', 1)).toEqual({ mib: 3, replicas: 1, source: 'model_artifact_size' });
    expect(book.of('a', 4)).toEqual({ mib: 12, replicas: 4, source: 'model_artifact_size' });
    expect(book.of('b', 1)).toEqual({ mib: null, replicas: 1, source: 'unavailable' });
  });

  test('after it: how much more the GPUs hold', async ({ expect }) => {
    const machine = new Machine();
    await machine.load(a, 7_000);
    expect(await machine.source(a)).toEqual([7_000, 1]);
  });

  test('or what its own processes hold, where the driver names them', async ({ expect }) => {
    const machine = new Machine();
    machine.processes = [
      { pid: 41, uuid: 'g', usedMib: 5_000 },
      { pid: 141, uuid: 'g', usedMib: 200 },
      { pid: 7, uuid: 'g', usedMib: 999 },
    ];
    await machine.load(a, 9_000);
    expect(await machine.source(a)).toEqual([5_200, 1]);
  });

  test('kept per count of replicas: the nearest one is told with its count', async ({ expect }) => {
    const machine = new Machine();
    await machine.load(a, 7_000);
    await machine.source(a);
    machine.move(a, 'stopping', phases.stopping).move(a, 'off', phases.off);
    machine.usedMib = 1_000;
    machine.set(a, { replicas: 2 });
    machine.move(a, 'starting', phases.starting, 0).move(a, 'starting', phases.starting, 1);
    await Promise.resolve();
    machine.usedMib = 15_500;
    machine.move(a, 'awake', phases.awake, 0);
    machine.move(a, 'awake', phases.awake, 1);
    await waitFor('both to be seen', () => machine.book.of('a', 2).replicas === 2);
    expect([1, 2, 4].map((count) => machine.book.of('a', count))).toEqual([
      { mib: 7_000, replicas: 1, source: 'observed_load_delta' },
      { mib: 14_500, replicas: 2, source: 'observed_load_delta' },
      { mib: 14_500, replicas: 2, source: 'observed_load_delta' },
    ]);
  });

  test('a difference that others may have made is none', async ({ expect }) => {
    const machine = new Machine();
    machine.move(a, 'starting', phases.starting);
    machine.move(b, 'starting', phases.starting);
    machine.usedMib = 9_000;
    machine.move(a, 'awake', phases.awake);
    await waitFor('it to be looked at', () => machine.reads === 3);
    await new Promise(setImmediate);
    expect(machine.book.of('a', 1).source).toBe('unavailable');
  });

  test('nor one of a load that came to nothing, or where there is no GPU', async ({ expect }) => {
    const machine = new Machine();
    machine.move(a, 'starting', phases.starting).move(a, 'reaping', phases.off).move(a, 'failed', phases.failed);
    machine.usedMib = 9_000;
    machine.move(a, 'awake', phases.awake);
    machine.there = false;
    await machine.load(b, 100);
    await new Promise(setImmediate);
    expect([machine.book.of('a', 1).source, machine.book.of('b', 1).source]).toEqual(['unavailable', 'unavailable']);
    expect(machine.bugs).toEqual([]);
  });

  test('it is looked at again only when it is loaded otherwise', async ({ expect }) => {
    const machine = new Machine();
    await machine.load(a, 7_000);
    await machine.source(a);
    const { reads } = machine;
    machine.move(a, 'off', phases.off);
    await machine.load(a, 100);
    expect(machine.reads).toBe(reads);
    machine.move(a, 'off', phases.off);
    machine.set(a, { override: { llama_server_n_ctx: 9 } });
    await machine.load(a, 8_000);
    await waitFor('the new size', () => machine.book.of('a', 1).mib === 8_000);
  });
});
