import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/config/schema.ts';
import { ModelList, type EngineRow } from '../../src/api/admin/contract.ts';
import { killSurvivors, noSurvivors, testFolder } from './survivors.ts';
import { waitFor } from './wait-for.ts';

const CATNAP = join(import.meta.dirname, '../fixtures/catnap.ts');

/** catnap as a process of its own, with everything it leaves behind in a folder of its own. */
export type RunningCatnap = {
  readonly port: number;
  readonly pid: number;
  /** What it has logged so far. */
  readonly log: () => string;
  /** The engine that serves a model now, as the admin API tells. */
  readonly engine: (model: string) => Promise<EngineRow>;
};

/** Starts it, waits until it listens, and at the end of the test stops it and proves that no process is left. */
export async function startCatnap(
  config: ConfigInput,
  onTestFinished: (clean: () => Promise<void>) => void,
): Promise<RunningCatnap> {
  const folder = testFolder();
  const whole: ConfigInput = { port: 0, metrics_port: 0, state_dir: join(folder.path, 'state'), ...config };
  writeFileSync(join(folder.path, 'config.json'), JSON.stringify(whole));
  const child = spawn(process.execPath, [CATNAP], { cwd: folder.path, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (text) => {
    log += String(text);
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
    try {
      await noSurvivors(folder.path);
    } finally {
      killSurvivors(folder.path);
      folder.remove();
    }
  });
  const port = await waitFor('catnap to listen', () => {
    if (child.exitCode !== null) throw new Error(`catnap ended with ${child.exitCode}: ${log}`);
    return Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(log)?.[1]) || undefined;
  });
  return {
    port,
    pid: child.pid ?? 0,
    log: () => log,
    engine: async (model) => {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/admin/models`);
      const row = ModelList.parse(await answer.json()).models.find(({ name }) => name === model);
      const engine = row?.engines[0];
      if (engine === undefined) throw new Error(`no engine of ${model}`);
      return engine;
    },
  };
}
