import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'vitest';
import { debianKeyring } from '../../../../src/quickstart/llama/apt.ts';
import { fetchLlamaServer, type FetchTerms } from '../../../../src/quickstart/llama/fetch.ts';
import { noSurvivors, testFolder } from '../../../helpers/survivors.ts';
import { waitFor } from '../../../helpers/wait-for.ts';

let folder = '';
let lines: string[] = [];
beforeEach(() => {
  const made = testFolder();
  folder = made.path;
  lines = [];
  return made.remove;
});

const shelf = (): string => join(folder, 'cache', 'llama-server');

/** Fetches with these scripts in place of the system's programs. */
function fetchWith(programs: Readonly<Record<string, string>>, more: Partial<FetchTerms> = {}) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  for (const tool of ['cat', 'mkdir', 'sleep']) symlinkSync(`/bin/${tool}`, join(bin, tool));
  return fetchLlamaServer({
    cacheDir: join(folder, 'cache'),
    env: { PATH: bin, TEST_FOLDER: folder },
    progress: (line) => lines.push(line),
    ...more,
  });
}

const PRINTS_MIRRORS = `case "$*" in *--print-uris*)
  echo "'http://one.example/debian/dists/stable/InRelease' x 0"
  echo "'http://two.example/apt/dists/stable/InRelease' x 0"
  exit
esac`;

test('where there is no apt it says so and touches nothing', async ({ expect }) => {
  const result = await fetchWith({});
  expect(result.kind === 'missing' && result.why).toMatch(/^it cannot be fetched where there is no apt-get|for \w+ on/);
  expect([existsSync(shelf()), lines]).toEqual([false, []]);
});

describe.skipIf((await debianKeyring()) === undefined || process.arch !== 'x64')('on a Debian system', () => {
  test('each mirror is tried and named; the trouble of the first is told in a line; nothing is left', async ({
    expect,
  }) => {
    const apt = `${PRINTS_MIRRORS}
      echo "W: some warning" >&2
      [ -e "$TEST_FOLDER/asked" ] || echo "E: Failed to fetch X  Could not resolve 'host'" >&2
      echo > "$TEST_FOLDER/asked"
      exit 100`;
    expect(await fetchWith({ 'apt-get': apt, 'dpkg-deb': '' })).toEqual({
      kind: 'missing',
      why: "apt-get failed: Failed to fetch X  Could not resolve 'host'",
    });
    expect(lines.filter((line) => line.includes('index'))).toEqual([
      'reading the index of Debian forky at http://one.example/debian',
      'reading the index of Debian forky at http://two.example/apt',
    ]);
    expect(readdirSync(shelf())).toEqual([]);
  });

  test('a system that knows no mirror is told how to name one', async ({ expect }) => {
    const result = await fetchWith({ 'apt-get': '', 'dpkg-deb': '' });
    expect(result.kind === 'missing' && result.why).toContain('set DEBIAN_MIRROR');
  });

  test('a package that is not what it should be is a reason, not a crash', async ({ expect }) => {
    const apt = `${PRINTS_MIRRORS}\ncase "$*" in *download*) echo > a.deb;; esac`;
    const dpkg = 'mkdir -p "$3/usr/bin"; echo "#!/bin/sh" > "$3/usr/bin/llama-server"';
    expect(await fetchWith({ 'apt-get': apt, 'dpkg-deb': dpkg })).toEqual({
      kind: 'missing',
      why: 'cannot make llama-server run here: it is not an ELF file',
    });
    expect(readdirSync(shelf())).toEqual([]);
  });

  test("packages without the program are a reason, not the system's words", async ({ expect }) => {
    const apt = `${PRINTS_MIRRORS}\ncase "$*" in *download*) echo > a.deb;; esac`;
    expect(await fetchWith({ 'apt-get': apt, 'dpkg-deb': '' })).toEqual({
      kind: 'missing',
      why: 'the packages hold no usr/bin/llama-server',
    });
  });

  test("apt is kept to the draft folder, without the system's hooks", async ({ expect }) => {
    const apt = `${PRINTS_MIRRORS}
      for argument; do echo "$argument" >> "$TEST_FOLDER/arguments"; done
      cat "$2" > "$TEST_FOLDER/settings"
      exit 1`;
    await fetchWith({ 'apt-get': apt, 'dpkg-deb': '' });
    const given = readFileSync(join(folder, 'arguments'), 'utf8').split('\n');
    for (const setting of ['Dir::State=', 'Dir::State::Lists=', 'Dir::Cache=', 'Dir::Etc::SourceList='])
      expect(given.find((line) => line.startsWith(setting))).toContain(shelf());
    expect(readFileSync(join(folder, 'settings'), 'utf8')).toContain('#clear APT::Update::Post-Invoke;');
  });

  test('a cache that cannot be written is a reason', async ({ expect }) => {
    writeFileSync(join(folder, 'file'), '');
    const result = await fetchWith({ 'apt-get': '', 'dpkg-deb': '' }, { cacheDir: join(folder, 'file') });
    expect(result.kind === 'missing' && result.why).toContain('its folder cannot be written: ');
  });

  test('when it is called off it stops at once and leaves nothing', async ({ expect }) => {
    const apt = `${PRINTS_MIRRORS}\necho > "$TEST_FOLDER/running"; exec sleep 600`;
    const caller = new AbortController();
    const fetching = fetchWith({ 'apt-get': apt, 'dpkg-deb': '' }, { signal: caller.signal });
    await waitFor('apt-get to run', () => existsSync(join(folder, 'running')));
    caller.abort(new Error('called off'));
    await expect(fetching).rejects.toThrow('called off');
    expect(readdirSync(shelf())).toEqual([]);
    await noSurvivors(folder);
  });
});
