import { test } from 'vitest';
import { Criu } from '../../../src/adapters/criu.ts';
import { ScriptedProcesses } from '../engines/scripted-ports.ts';

const V4 = { code: 0, output: 'Version: 4.2.1\n' };
const GOOD = { code: 0, output: 'Looks good.\n' };

/** criu on a machine that answers as the test says. */
function machine({
  found = ['/usr/bin/criu'],
  answer = () => GOOD,
  isRoot = true,
  plugins,
}: {
  found?: readonly string[];
  answer?: (argv: readonly string[]) => { code: number; output: string };
  isRoot?: boolean;
  plugins?: string;
} = {}) {
  const processes = new ScriptedProcesses();
  processes.answer = (argv) => (argv.includes('--version') ? V4 : answer(argv));
  const places = new Map(found.map((path) => [path, { path, mark: '1' }]));
  const find = async (name: string) => places.get(name.includes('/') ? name : `/usr/bin/${name}`);
  const cudaCheckpoint = 'cuda-checkpoint';
  const criu = new Criu({ command: 'criu', plugins, cudaCheckpoint }, { programs: { find }, processes, isRoot });
  return { criu, processes, places };
}

test.skipIf(process.platform !== 'linux')('what hinders it is said with what to change', async ({ expect }) => {
  const hindrance = (of: Parameters<typeof machine>[0]) => machine(of).criu.hindrance();
  expect(await hindrance({})).toBeUndefined();
  expect(await hindrance({ found: [] })).toBe(
    'sleep level 4 needs criu, and criu is not there: install criu 4 or newer, or set checkpoint.criu_path',
  );
  const no = 'Error (criu/cr-check.c:1): Kernel lacks it\n';
  expect(await hindrance({ answer: () => ({ code: 1, output: no }) })).toBe(
    'criu cannot work on this machine (criu check): Kernel lacks it',
  );
  expect(await hindrance({ plugins: '/no/plugins' })).toBe(
    'checkpoint.cuda_driver is "plugin", and there is no cuda_plugin.so in /no/plugins: set checkpoint.cuda_plugin_dir',
  );
  const sudo = { code: 1, output: 'sudo: a password is required\n' };
  expect(await hindrance({ isRoot: false, answer: () => sudo })).toBe(
    'criu needs root, and catnap may not run it so (sudo: a password is required): run catnap as root, ' +
      'or let its user run /usr/bin/criu by sudo without a password',
  );
  for (const program of ['cat', 'kill']) {
    const answer = (argv: readonly string[]) => (argv[3] === program ? sudo : GOOD);
    expect(await hindrance({ isRoot: false, answer })).toBe(
      `criu runs by sudo, and catnap may not run ${program} so (sudo: a password is required), ` +
        'which it needs beside it: allow that in sudoers',
    );
  }
  expect(await hindrance({ isRoot: false })).toBeUndefined();
});

test.skipIf(process.platform !== 'linux')(
  'an old one is told by its version, and a stranger by what it says',
  async ({ expect }) => {
    const { criu, processes } = machine();
    processes.answer = () => ({ code: 0, output: 'Version: 3.17.1\n' });
    expect(await criu.hindrance()).toBe('/usr/bin/criu is criu 3.17.1; sleep level 4 needs 4.0 or newer');
    processes.answer = () => ({ code: 0, output: 'usage: criu [-h]\n' });
    expect(await criu.hindrance()).toBe('/usr/bin/criu --version does not answer like criu: usage: criu [-h]');
  },
);

test.skipIf(process.platform !== 'linux')('it is asked once, and again when it was replaced', async ({ expect }) => {
  const { criu, processes, places } = machine();
  await criu.hindrance();
  await criu.hindrance();
  expect(processes.asked).toHaveLength(2);
  places.set('/usr/bin/criu', { path: '/usr/bin/criu', mark: '2' });
  await criu.hindrance();
  expect(processes.asked).toHaveLength(4);
});

test.skipIf(process.platform !== 'linux')(
  'where PATH lacks the folders of the system it is looked for there',
  async ({ expect }) => {
    const { criu } = machine({ found: ['/usr/sbin/criu'] });
    expect(await criu.hindrance()).toBeUndefined();
    expect(criu.dump(7, { folder: '/images/a' })[0]).toBe('/usr/sbin/criu');
  },
);

test.skipIf(process.platform !== 'linux')(
  'it stays the parent of what it restores, loads no plugin unasked, and runs by sudo for others',
  async ({ expect }) => {
    const { criu } = machine({ isRoot: false });
    await criu.hindrance();
    const restore = criu.restore({ folder: '/images/a' });
    expect(restore.slice(0, 5)).toEqual(['sudo', '-n', '--', '/usr/bin/criu', 'restore']);
    expect(restore.join(' ')).toContain('--pidfile /images/a/root.pid');
    expect(restore).not.toContain('--restore-detached');
    expect(restore.join(' ')).toContain('--libdir /images/a');
    const dump = criu.dump(7, { folder: '/images/a' });
    expect(dump.join(' ')).toContain('dump --tree 7 ');
    // What the two ways do not agree on cannot be restored.
    for (const flag of [
      '--tcp-close',
      '--ext-unix-sk',
      '--file-locks',
      '--manage-cgroups=ignore',
      '--enable-external-masters',
      '--no-default-config',
    ])
      expect([flag, dump.includes(flag), restore.includes(flag)]).toEqual([flag, true, true]);
  },
);
