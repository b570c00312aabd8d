// `npm run bench:prefetch -- [--mib 1000] [--rounds 4] [--drain-secs 2]`: how long a model takes to come when none of its file is in memory, with and without
// `prefetch`, while another one drains for it. Prints Markdown. The file is put out of the page cache with dd, which needs no rights.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import type { ModelInput } from '../../src/config/schema.ts';
import { writeRandomModel } from '../../src/quickstart/gguf/models.ts';
import { requireLlama } from '../../test/helpers/llama.ts';
import { Catnap } from './catnap.ts';

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '4' },
    'drain-secs': { type: 'string', default: '2' },
  },
});
const [mib, rounds, drainSecs] = [Number(values.mib), Number(values.rounds), Number(values['drain-secs'])];
if (!(mib >= 1 && mib <= 16_000 && rounds >= 1 && rounds <= 50 && drainSecs >= 0 && drainSecs <= 60))
  throw new Error('--mib takes 1 to 16000, --rounds 1 to 50, --drain-secs 0 to 60');

const LIMIT_MS = 120_000;
const limit = (): AbortSignal => AbortSignal.timeout(LIMIT_MS);

const folder = mkdtempSync(join(tmpdir(), 'catnap-prefetch-'));
try {
  const llama = await requireLlama();
  const beta = join(folder, 'beta.gguf');
  await writeRandomModel({ file: beta, seed: 2, targetMb: mib });
  const served = (file: string): ModelInput => ({ backend: 'llama_server', model_path: file, llama_server_n_ctx: 512 });
  const slow: ModelInput = {
    backend: 'stub',
    first_token_ms: drainSecs * 1_000,
  };
  const came = new Map<boolean, number[]>([
    [false, []],
    [true, []],
  ]);
  for (let round = 0; round < rounds; round++) {
    // In changing order, and each time with a catnap that has read nothing yet: one that has does not read the same again for a minute.
    for (const enabled of round % 2 === 0 ? [false, true] : [true, false]) {
      const catnap = await Catnap.start(mkdtempSync(join(folder, 'catnap-')), {
        llama_server_command: llama,
        models: { alpha: slow, beta: served(beta) },
        prefetch: { enabled },
        // What the wait was made of is read from the head of the answer, which leaves with the first comment.
        wait_comment_after_secs: 600,
      });
      try {
        await catnap.swapTo('alpha', limit());
        await putOut(beta);
        const drains = catnap.ask('alpha', limit());
        const { legs } = await catnap.swapTo('beta', limit());
        await drains;
        came.get(enabled)?.push((legs.wake ?? 0) + (legs.ready ?? 0));
      } finally {
        await catnap.stop();
      }
    }
  }
  const rows = [...came].map(([enabled, times]) => {
    const sorted = times.toSorted((a, b) => a - b);
    const [least, middle, most] = [0, Math.floor(sorted.length / 2), sorted.length - 1].map((at) => sorted[at] ?? 0);
    return `| ${enabled ? 'on' : 'off'} | ${[least, middle, most].map((ms) => `${Math.round(ms ?? 0)} ms`).join(' | ')} |`;
  });
  console.log(['| `prefetch` | Least | Median | Most |', '|---|---|---|---|', ...rows].join('\n'));
  console.log(
    `\nFrom the start of beta's engine until it is ready; a file of ${mib} MiB, ${drainSecs} s of drain, ${rounds} rounds.`,
  );
} finally {
  rmSync(folder, { recursive: true });
}

/** None of it is in memory after this. */
async function putOut(file: string): Promise<void> {
  await execa('sync', ['-d', file]);
  await execa('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
}
