import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { test as base } from 'vitest';
import { ROOT } from '../house/source-files.ts';
import { killSurvivors, noSurvivors, testFolder } from './survivors.ts';

/** What `dist/cli/main.js` is in these tests: it says who runs it, and can end in all ways. */
const MAIN = `
import { appendFileSync, writeFileSync } from 'node:fs';
export async function main(argv) {
  console.log(JSON.stringify({ pid: process.pid, execPath: process.execPath, argv }));
  if (argv[0] === 'exit') return Number(argv[1]);
  if (argv[0] === 'die') process.kill(process.pid, argv[1]);
  if (argv[0] !== 'listen') return 0;
  return new Promise((resolve) => {
    const alive = setInterval(() => {}, 1_000);
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) {
      process.on(name, () => {
        appendFileSync('heard', name + ' ');
        if (name !== 'SIGTERM') return;
        clearInterval(alive);
        resolve(5);
      });
    }
    writeFileSync('listening', String(process.pid));
  });
}
`;

/**
 * An npm that installs from nothing: it notes that it was called, and makes what the launcher looks for. NPM_DOES says how it
 * fares: it works, says that it is offline, hangs until it is stopped, or brings a Node that does not run here.
 */
const NPM = `#!/bin/sh
echo "$PWD $*" >> "$NPM_CALLS"
case "$NPM_DOES" in
  offline) echo "npm error code ENOTFOUND" >&2; echo "npm error network request to the registry failed" >&2; exit 1 ;;
  hang) mkdir -p node_modules; sleep 60 & wait; exit 1 ;;
esac
if grep -q node-linux package.json; then
  package=$(sed -n 's/.*"\\(node-linux-[a-z0-9]*\\)": "\\(.*\\)".*/\\1/p' package.json | head -1)
  version=$(sed -n 's/.*"node-linux-[a-z0-9]*": "\\(.*\\)".*/\\1/p' package.json | head -1)
  mkdir -p "node_modules/$package/bin"
  [ "$NPM_DOES" = wrong ] && version=1.2.3
  printf '#!/bin/sh\\n[ "$1" = --version ] && echo v%s && exit\\nexec "$REAL_NODE" "$@"\\n' "$version" > "node_modules/$package/bin/node"
  chmod +x "node_modules/$package/bin/node"
else
  mkdir -p node_modules/typescript/bin
  cp package-lock.json node_modules/.package-lock.json
  cp "$TSC" node_modules/typescript/bin/tsc
fi
`;

/** A compiler that copies: \`bad\` in a source is an error. */
const TSC = `
const { cpSync, appendFileSync, readFileSync } = require('node:fs');
appendFileSync(process.env.TSC_CALLS, 'x');
if (readFileSync('src/cli/main.ts', 'utf8').includes('bad')) {
  console.log('src/cli/main.ts(1,1): error TS1: it is bad');
  process.exit(2);
}
const out = process.argv[process.argv.indexOf('--outDir') + 1];
cpSync('src', out, { recursive: true });
cpSync('src/cli/main.ts', out + '/cli/main.js');
`;

type Kind = 'package' | 'checkout';
type NpmDoes = 'works' | 'offline' | 'hang' | 'wrong';

const NOBODY = 65_534;

type LaunchOptions = {
  readonly env?: Readonly<Record<string, string>>;
  readonly detached?: boolean;
  /** Who launches it; only root can say. */
  readonly uid?: number;
};

/** A copy of the launcher in a folder of its own, with stand-ins for npm, the compiler and the product. */
export class LaunchScene {
  readonly folder: string;
  readonly home: string;
  readonly cache: string;
  npmDoes: NpmDoes = 'works';

  constructor(folder: string, kind: Kind) {
    this.folder = folder;
    this.home = join(folder, 'home');
    this.cache = join(folder, 'cache');
    cpSync(join(ROOT, 'scripts/launch'), this.path('scripts/launch'), { recursive: true });
    cpSync(join(ROOT, 'scripts/node'), this.path('scripts/node'), { recursive: true });
    for (const name of ['launch.mjs', 'run.mjs']) cpSync(join(ROOT, 'scripts', name), this.path(`scripts/${name}`));
    this.write('home/package.json', readFileSync(join(ROOT, 'package.json'), 'utf8'));
    if (kind === 'package') this.write('home/dist/cli/main.js', MAIN);
    else {
      this.write('home/src/cli/main.ts', MAIN);
      for (const name of ['tsconfig.json', 'tsconfig.build.json', '.npmrc']) this.write(`home/${name}`, '');
      this.write(
        'home/package-lock.json',
        JSON.stringify({ packages: { '': {}, 'node_modules/typescript': { version: '7.0.0' } } }),
      );
    }
    this.write('bin/npm', NPM);
    this.write('tsc.cjs', TSC);
    chmodSync(join(folder, 'bin/npm'), 0o755);
  }

  path(inHome: string): string {
    return join(this.home, inHome);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  /** Makes the Node that runs the tests count as too old. */
  wantNode(range: string): void {
    const manifest = JSON.parse(readFileSync(this.path('package.json'), 'utf8'));
    this.write('home/package.json', JSON.stringify({ ...manifest, engines: { node: range } }));
  }

  count(what: 'npm' | 'tsc'): number {
    const file = join(this.folder, `${what}-calls`);
    if (!existsSync(file)) return 0;
    const text = readFileSync(file, 'utf8');
    return what === 'npm' ? text.trim().split('\n').length : text.length;
  }

  /** What lies in a folder of the scene, without what makes no difference. */
  list(path: string): string[] {
    const folder = join(this.folder, path);
    return existsSync(folder) ? readdirSync(folder).sort() : [];
  }

  get env(): Record<string, string> {
    return {
      // The last Node on the path is for the stand-ins; npm is ours.
      PATH: `${join(this.folder, 'bin')}:/usr/bin:/bin`,
      HOME: this.folder,
      CATNAP_CACHE: this.cache,
      NPM_CALLS: join(this.folder, 'npm-calls'),
      TSC_CALLS: join(this.folder, 'tsc-calls'),
      NPM_DOES: this.npmDoes,
      TSC: join(this.folder, 'tsc.cjs'),
      REAL_NODE: process.execPath,
    };
  }

  /** Closes the checkout to writers; to root nothing is closed, so root has somebody else launch. Undefined: nobody else could read it. */
  async closed(): Promise<{ readonly reader: LaunchOptions | undefined; open(): void }> {
    chmodSync(this.folder, 0o755);
    chmodSync(this.home, 0o555);
    const reader = process.getuid?.() === 0 ? { uid: NOBODY } : {};
    const reads = `require('node:fs').readFileSync(${JSON.stringify(this.path('package.json'))})`;
    const { failed } = await execa(process.execPath, ['-e', reads], { ...reader, reject: false });
    return { reader: failed ? undefined : reader, open: () => chmodSync(this.home, 0o755) };
  }

  launch(args: readonly string[] = [], options: LaunchOptions = {}) {
    return execa(process.execPath, [this.path('scripts/launch.mjs'), ...args], {
      cwd: this.folder,
      env: this.env,
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
      timeout: 30_000,
      ...options,
    });
  }
}

type Scenes = (kind: Kind) => LaunchScene;

/** A test of the launcher; whatever it started must be gone at its end. */
export const test = base.extend('scene', async ({ onTestFailed }, { onCleanup }): Promise<Scenes> => {
  const folder = testFolder();
  onTestFailed(() => killSurvivors(folder.path));
  onCleanup(async () => {
    try {
      await noSurvivors(folder.path);
    } finally {
      killSurvivors(folder.path);
      folder.remove();
    }
  });
  return (kind) => new LaunchScene(folder.path, kind);
});
