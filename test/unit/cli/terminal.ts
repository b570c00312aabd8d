import { run } from '../../../src/cli/run.ts';

export type Ended = { readonly code: number; readonly out: string; readonly err: string };

/** Runs a command line in this process and collects what it writes. */
export async function type(argv: readonly string[], given = ''): Promise<Ended> {
  let out = '';
  let err = '';
  const code = await run(argv, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    in: async () => given,
    colour: false,
    env: { HOME: '/home/somebody' },
  });
  return { code, out, err };
}
