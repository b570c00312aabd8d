// The lab's `nvidia-smi` and `cuda-checkpoint` as tools that take next to nothing to start: each asks one process that is there already. With them a
// swap shows what catnap itself takes, and not the start of the stand-ins.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { move, whyNotMoved } from '../../test/fixtures/lab/cuda-steps.ts';
import { Ledger } from '../../test/fixtures/lab/ledger.ts';
import { smiRows } from '../../test/fixtures/lab/smi-rows.ts';
import type { Lab } from '../../test/helpers/lab.ts';

const TOOLS = ['nvidia-smi', 'cuda-checkpoint'] as const;

export type QuickTools = { readonly into: (lab: Lab) => Lab; readonly stop: () => void };

/** The tools of a lab stay as they are. */
export const USUAL_TOOLS: QuickTools = { into: (lab) => lab, stop: () => {} };

export async function quickTools(): Promise<QuickTools> {
  const argv = ['--disable-warning=ExperimentalWarning', import.meta.filename, 'serve'];
  const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
  const [port] = await once(createInterface(child.stdout), 'line');
  return { into: (lab) => fitted(lab, Number(port)), stop: () => void child.kill('SIGKILL') };
}

function fitted(lab: Lab, port: number): Lab {
  for (const name of TOOLS) {
    const file = lab.tool(name);
    const folder = dirname(dirname(file));
    const lines = [
      '#!/bin/bash',
      `echo >>'${folder}/${name}.starts'`,
      `exec 3<>/dev/tcp/127.0.0.1/${port}`,
      `printf '%s\\n' "${folder} ${name} $*" >&3`,
      'read -r code <&3',
      `while IFS= read -r line <&3; do printf '%s\\n' "$line"; done`,
      'exit "$code"',
    ];
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o755 });
  }
  return lab;
}

/** What it prints, or undefined: it could not be done. */
type Said = readonly string[] | undefined;

function cuda(ledger: Ledger, args: readonly string[]): Said {
  if (args.includes('--help')) return ['--action --get-state --timeout'];
  const pid = Number(args[args.indexOf('--pid') + 1]);
  const state = ledger.holder(pid)?.state;
  if (state === undefined) return undefined;
  if (args.includes('--get-state')) return [state];
  const action = args[args.indexOf('--action') + 1] ?? '';
  return whyNotMoved(state, action) === undefined && move(ledger, pid, action) ? [] : undefined;
}

function answer(socket: Socket): void {
  createInterface(socket).once('line', (line) => {
    const [folder = '', tool, ...args] = line.split(' ');
    const said = (tool === 'nvidia-smi' ? smiRows : cuda)(new Ledger(folder), args);
    socket.end([said === undefined ? '1' : '0', ...(said ?? ['it could not be done']), ''].join('\n'));
  });
  socket.on('error', () => socket.destroy()); // whoever asked was ended
}

if (process.argv[2] === 'serve') {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the tools listen nowhere');
  console.log(address.port);
  // Ends with whoever has started it.
  process.stdin.on('end', () => process.exit()).resume();
}
